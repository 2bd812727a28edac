import { z } from "zod";
import { DroverError } from "../core/errors.ts";
import { MAX_SNAPSHOT_BYTES } from "../core/limits.ts";
import { formatSize } from "../core/size.ts";
import type { SnapshotStore } from "../objects/rpc.ts";
import { Name, SnapshotId } from "../schema/common.ts";
import { headersOf } from "./answer-headers.ts";
import type { EdgeApp, EdgeContext } from "./edge.ts";
import { refuse } from "./invalid.ts";
import { behindTheEnd, spanOf } from "./log-request.ts";
import { operation } from "./operation.ts";
import { jsonAnswer, notModifiedAnswer, problemAnswer } from "./params.ts";
import { renderError } from "./problem.ts";
import { readAway } from "./read-away.ts";
import { SignatureHeaders, signatureOf } from "./signature.ts";

const archive = { "application/octet-stream": { schema: z.string().meta({ format: "binary" }) } };

const Stored = z.object({ id: SnapshotId, bytes: z.int() }).meta({ id: "StoredSnapshot" });

const snapshot = SnapshotId.meta({ description: "`sha256:` and the SHA-256 of the archive, in hexadecimal" });
const ofClient = { params: z.object({ snapshot }), query: z.strictObject({}) };
const ofHost = {
  params: z.object({ worker: Name.meta({ description: "the worker's id" }), snapshot }),
  query: z.strictObject({}),
};
const Range = z.string().optional().meta({ example: "bytes=1048576-" });

const answers = {
  put: {
    200: jsonAnswer("it was there already", Stored),
    201: jsonAnswer("it is stored", Stored, ["Location"]),
    default: problemAnswer,
  },
  get: {
    200: {
      description: "the archive",
      headers: headersOf("Accept-Ranges", "Content-Length", "ETag"),
      content: archive,
    },
    206: {
      description: "the bytes of the range",
      headers: headersOf("Accept-Ranges", "Content-Length", "Content-Range", "ETag"),
      content: archive,
    },
    304: { ...notModifiedAnswer, headers: headersOf("Accept-Ranges", "ETag") },
    default: problemAnswer,
  },
};

const put = operation({
  method: "put",
  path: "/v1/snapshots/{snapshot}",
  operationId: "putSnapshot",
  tag: "Snapshots",
  access: "token",
  codes: ["digest_mismatch", "length_required", "no_bucket"],
  summary: "Store an archive of files for runs to begin with",
  description:
    "A tar archive, plain or by gzip or zstd. It needs a `Content-Length`, at most " +
    `${formatSize(MAX_SNAPSHOT_BYTES)}. The digest is verified: a wrong one is 422, and nothing is stored. ` +
    "Doing it again does no harm.",
  request: { ...ofClient, body: { required: true, content: archive } },
  responses: answers.put,
});

const get = operation({
  method: "get",
  path: "/v1/snapshots/{snapshot}",
  operationId: "getSnapshot",
  tag: "Snapshots",
  access: "token",
  codes: ["unknown_snapshot", "range_not_satisfiable", "no_bucket"],
  summary: "An archive, as it was stored",
  description: "With HEAD only whether it is there, and how large it is.",
  request: {
    ...ofClient,
    headers: z.object({ range: Range, "if-none-match": z.string().optional() }),
  },
  responses: answers.get,
});

const hostPut = operation({
  method: "put",
  path: "/v1/hosts/{worker}/snapshots/{snapshot}",
  operationId: "putHostSnapshot",
  tag: "Snapshots",
  access: "host",
  codes: ["digest_mismatch", "length_required", "unknown_worker", "no_bucket"],
  summary: "The result of a run, from its host",
  description:
    "Signed with an empty body, so that it can be streamed: `webhook-id` must be `snapshot_<hex>`. So the " +
    "digest is signed, and the bytes are verified by it.",
  request: { ...ofHost, headers: SignatureHeaders, body: { required: true, content: archive } },
  responses: answers.put,
});

const hostGet = operation({
  method: "get",
  path: "/v1/hosts/{worker}/snapshots/{snapshot}",
  operationId: "getHostSnapshot",
  tag: "Snapshots",
  access: "host",
  codes: ["unknown_snapshot", "unknown_worker", "range_not_satisfiable", "no_bucket"],
  summary: "An archive for a run, to its host",
  description: "Signed with an empty body. `Range: bytes=n-` goes on after a cut.",
  request: { ...ofHost, headers: SignatureHeaders.extend({ range: Range }) },
  responses: answers.get,
});

/** Adds the routes of snapshots, for clients (`api.md`, The rest) and for hosts (`host-protocol.md`). */
export function snapshotRoutes(app: EdgeApp): void {
  app.openapi(put, (c) => putSnapshot(c, c.req.valid("param").snapshot), refuse());
  app.openapi(get, (c) => getSnapshot(c, c.req.valid("param").snapshot), refuse());
  app.openapi(
    hostPut,
    (c) => {
      const { worker, snapshot: id } = c.req.valid("param");
      return putSnapshot(c, id, () => verifyPut(c, worker, id));
    },
    refuse(),
  );
  app.openapi(
    hostGet,
    async (c) => {
      const { worker, snapshot: id } = c.req.valid("param");
      await c.env.objects.snapshots().verify(worker, signatureOf(c));
      return getSnapshot(c, id);
    },
    refuse(),
  );
}

/** The body is not signed. Its digest is: by the id of the call. */
async function verifyPut(c: EdgeContext, worker: string, id: string): Promise<void> {
  const signature = signatureOf(c);
  const wanted = id.replace("sha256:", "snapshot_");
  if (signature.id !== wanted) {
    const text = `the webhook-id of an upload names its digest: it must be ${wanted}, not ${signature.id}`;
    throw new DroverError("bad_signature", text);
  }
  await c.env.objects.snapshots().verify(worker, signature);
}

async function putSnapshot(c: EdgeContext, id: string, verify: () => Promise<void> = async () => undefined) {
  try {
    const bytes = lengthOf(c);
    await verify();
    const { created } = await c.env.objects.snapshots().put(id, c.req.raw.body);
    if (!created) return c.json({ id, bytes }, 200);
    c.header("Location", c.req.path);
    return c.json({ id, bytes }, 201);
  } catch (error) {
    await readAway(c.req.raw);
    throw error;
  }
}

/** Without a length the bucket would have to be told of parts, and a limit would be met in the middle. */
function lengthOf(c: EdgeContext): number {
  const text = c.req.header("content-length") ?? "";
  const length = Number(text);
  if (!/^\d{1,15}$/.test(text)) {
    throw new DroverError("length_required", "a snapshot says how long it is, by Content-Length");
  }
  if (length <= MAX_SNAPSHOT_BYTES) return length;
  const limit = formatSize(MAX_SNAPSHOT_BYTES);
  throw new DroverError(
    "body_too_large",
    `a snapshot has at most ${limit}; this one has ${formatSize(length)}`,
  );
}

async function getSnapshot(c: EdgeContext, id: string): Promise<Response> {
  const store = c.env.objects.snapshots();
  const size = await store.size(id);
  if (size === null) throw new DroverError("unknown_snapshot", `there is no snapshot ${id}`);
  const etag = `"${id}"`;
  const headers = {
    "content-type": "application/octet-stream",
    "accept-ranges": "bytes",
    "cache-control": "private, max-age=31536000, immutable",
    "x-content-type-options": "nosniff",
    etag,
  };
  if (c.req.header("if-none-match")?.includes(etag)) return new Response(null, { status: 304, headers });
  return withBytes(c, store, { id, size, headers });
}

interface Found {
  id: string;
  size: number;
  headers: Record<string, string>;
}

async function withBytes(
  c: EdgeContext,
  store: SnapshotStore,
  { id, size, headers }: Found,
): Promise<Response> {
  // To a HEAD a range means nothing (RFC 9110 §14.2).
  const bodyless = c.req.method === "HEAD";
  const span = spanOf(bodyless ? undefined : c.req.header("range"), undefined);
  const from = span.from < 0 ? Math.max(0, size + span.from) : span.from;
  const to = Math.min(span.to ?? size, size);
  if (span.ranged && from >= size) {
    return renderError(behindTheEnd("snapshot", from, size), c, { "content-range": `bytes */${size}` });
  }
  const length = { "content-length": String(to - from) };
  if (bodyless) return new Response(null, { headers: { ...headers, ...length } });
  if (!span.ranged) return new Response(await store.get(id), { headers: { ...headers, ...length } });
  const body = await store.get(id, { offset: from, length: to - from });
  const range = { "content-range": `bytes ${from}-${to - 1}/${size}` };
  return new Response(body, { status: 206, headers: { ...headers, ...length, ...range } });
}
