// The routes of snapshots, for clients and for hosts: upload, download, resume (api.md#snapshots).
import { z } from "zod";
import { SnapshotId } from "../schema/common.ts";
import { DroverError } from "../shared/errors.ts";
import { MAX_SNAPSHOT_BYTES } from "../shared/limits.ts";
import { formatSize } from "../shared/size.ts";
import { digestField } from "../signing/mac.ts";
import type { EdgeApp, EdgeContext } from "./edge.ts";
import { admit, SignatureHeaders } from "./hosts/signature.ts";
import { drainBody } from "./http/drain-body.ts";
import { renderError } from "./http/problem.ts";
import { headersOf } from "./openapi/answer-headers.ts";
import { operation } from "./openapi/operation.ts";
import { HostParams, jsonAnswer, notModifiedAnswer } from "./openapi/params.ts";
import { behindTheEnd, spanOf } from "./runs/log-request.ts";

const archive = { "application/octet-stream": { schema: z.string().meta({ format: "binary" }) } };

const Stored = z.object({ id: SnapshotId, bytes: z.int() }).meta({ id: "StoredSnapshot" });

const snapshot = SnapshotId.describe("`sha256:` and the SHA-256 of the archive, in hexadecimal");
const ofClient = { params: z.object({ snapshot }) };
const ofHost = { params: HostParams.extend({ snapshot }) };
const Range = z.string().optional().meta({ example: "bytes=1048576-" });

const answers = {
  put: {
    200: jsonAnswer("it was there already", Stored),
    201: jsonAnswer("it is stored", Stored, ["Location"]),
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
  },
};

const put = operation({
  method: "put",
  path: "/v1/snapshots/{snapshot}",
  operationId: "putSnapshot",
  access: "runs:write",
  tag: "Snapshots",
  codes: ["digest_mismatch", "length_required", "no_bucket"],
  summary: "Store an archive of files for runs to begin with",
  description:
    "A tar archive, plain or compressed with gzip or zstd. It needs a `Content-Length`, at most " +
    `${formatSize(MAX_SNAPSHOT_BYTES)}. The digest is verified: a wrong one is 422, and nothing is stored. ` +
    "Repeating the request is harmless.",
  request: { ...ofClient, body: { required: true, content: archive } },
  responses: answers.put,
});

const get = operation({
  method: "get",
  path: "/v1/snapshots/{snapshot}",
  operationId: "getSnapshot",
  access: "runs:logs",
  tag: "Snapshots",
  codes: ["unknown_snapshot", "range_not_satisfiable", "no_bucket"],
  summary: "An archive, as it was stored",
  description: "HEAD says whether it exists and how large it is.",
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
  codes: ["digest_mismatch", "length_required", "enrollment_over", "forbidden", "no_bucket", "busy"],
  summary: "The result of a run, from its host",
  description:
    "The signed `Content-Digest` must be the digest in the snapshot's id. So the bytes can be streamed, " +
    "and verified at the end.",
  request: { ...ofHost, headers: SignatureHeaders, body: { required: true, content: archive } },
  responses: answers.put,
});

const hostGet = operation({
  method: "get",
  path: "/v1/hosts/{worker}/snapshots/{snapshot}",
  operationId: "getHostSnapshot",
  tag: "Snapshots",
  access: "host",
  codes: ["unknown_snapshot", "enrollment_over", "forbidden", "range_not_satisfiable", "no_bucket", "busy"],
  summary: "An archive for a run, to its host",
  description: "`Range: bytes=n-` resumes a download. The archive itself is not signed: its name proves it.",
  request: { ...ofHost, headers: SignatureHeaders.extend({ range: Range }) },
  responses: answers.get,
});

/**
 * Adds the routes of snapshots, for clients (api.md#snapshots) and for hosts (host-protocol.md#snapshots).
 */
export function snapshotRoutes(app: EdgeApp): void {
  app.openapi(put, (c) => putSnapshot(c, c.req.valid("param").snapshot));
  app.openapi(get, (c) => getSnapshot(c, c.req.valid("param").snapshot));
  app.openapi(hostPut, (c) => {
    const { worker, snapshot: id } = c.req.valid("param");
    return putSnapshot(c, id, () => admitPut(c, worker, id));
  });
  app.openapi(hostGet, async (c) => {
    const { worker, snapshot: id } = c.req.valid("param");
    await admit(c, "get-snapshot", worker);
    return getSnapshot(c, id);
  });
}

/** Compares the signed digest with the snapshot's id. The bucket later compares the bytes with the id. */
async function admitPut(c: EdgeContext, worker: string, id: string): Promise<void> {
  const { digest } = await admit(c, "put-snapshot", worker);
  const pairs = id.slice("sha256:".length).match(/../g) ?? [];
  const named = digestField(btoa(String.fromCharCode(...pairs.map((pair) => Number.parseInt(pair, 16)))));
  if (digest === named) return;
  const text = `the Content-Digest of an upload must match its name: it must be ${named}, not ${digest}`;
  throw new DroverError("digest_mismatch", text);
}

async function putSnapshot(c: EdgeContext, id: string, verify: () => Promise<void> = async () => undefined) {
  // Nothing is read from an unverified sender.
  await verify();
  try {
    const bytes = lengthOf(c);
    const { created } = await c.var.objects.snapshots().put(id, c.req.raw.body);
    if (!created) return c.json({ id, bytes }, 200);
    c.header("Location", c.req.path);
    return c.json({ id, bytes }, 201);
  } catch (error) {
    await drainBody(c.req.raw);
    throw error;
  }
}

/**
 * The length of an upload. An upload without a length would need parts, and could exceed the limit halfway.
 */
function lengthOf(c: EdgeContext): number {
  const text = c.req.header("content-length") ?? "";
  if (!/^\d{1,15}$/.test(text)) throw new DroverError("length_required", "a snapshot needs a Content-Length");
  const length = Number(text);
  if (length <= MAX_SNAPSHOT_BYTES) return length;
  const [size, limit] = [length, MAX_SNAPSHOT_BYTES].map(formatSize);
  throw new DroverError("body_too_large", `the snapshot is too large: ${size}; the limit is ${limit}`);
}

async function getSnapshot(c: EdgeContext, id: string): Promise<Response> {
  const store = c.var.objects.snapshots();
  const size = await store.size(id);
  if (size === null) throw new DroverError("unknown_snapshot", `there is no snapshot ${id}`);
  const etag = `"${id}"`;
  const headers = {
    "content-type": "application/octet-stream",
    "accept-ranges": "bytes",
    "cache-control": "private, max-age=31536000, immutable",
    etag,
  };
  if (c.req.header("if-none-match")?.includes(etag)) return new Response(null, { status: 304, headers });
  const bodyless = c.req.method === "HEAD";
  // HEAD ignores ranges (RFC 9110 §14.2).
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
