// The routes by which hosts enroll, join, report, and open a socket (host-protocol.md#exchange).
import { z } from "zod";
import type { SignedCall, SocketRefusal } from "../../objects/rpc.ts";
import { Wait } from "../../schema/common.ts";
import { EnrollRequest, HostSetup, JoinRequest, type Orders, Report } from "../../schema/host.ts";
import { DroverError, otherBody } from "../../shared/errors.ts";
import { MAX_REPORT_WAIT_MS } from "../../shared/limits.ts";
import { contentDigest, textOfKey } from "../../signing/mac.ts";
import type { EdgeApp, EdgeContext } from "../edge.ts";
import { utf8Text } from "../http/json-body.ts";
import { operation } from "../openapi/operation.ts";
import { HostParams, jsonAnswer, waitMs } from "../openapi/params.ts";
import { provenAddress } from "../proof.ts";
import { unlessTooFast } from "./host-pace.ts";
import { answerHello, claimByCode, claimOfHost, SignatureHeaders, unwrapAnswer } from "./signature.ts";

export const SWITCHING_PROTOCOLS = 101;

/**
 * The edge does not read orders. So the OpenAPI document only names their type, and no schema checks them.
 */
const OrdersDocument = z.custom<Orders>().meta({
  id: "Orders",
  type: "object",
  description: "orders for the host: incarnation, revision, answers, leaseMs, reportWithinMs, attempts, logs",
});

const headers = SignatureHeaders;
const signed = { params: HostParams, headers };

/**
 * Documents a signed body, in JSON or another type. The body is not parsed here, since its signature must be
 * verified first.
 */
export function signedBody(body: z.ZodType, others: Record<string, { schema: object }> = {}) {
  // A plain JSON Schema appears in the document, but checks nothing.
  const { $schema: _, $defs: _named, ...made } = z.toJSONSchema(body, { io: "input" });
  // Named schemas are components of the document.
  const schema: object = JSON.parse(JSON.stringify(made).replaceAll("#/$defs/", "#/components/schemas/"));
  return { required: true, content: { "application/json": { schema }, ...others } };
}

const enroll = operation({
  method: "post",
  path: "/v1/hosts/enroll",
  operationId: "enrollHost",
  tag: "Hosts",
  access: "host",
  codes: ["enrollment_over", "code_used", "cloned", "unknown_worker"],
  summary: "A machine becomes the host of the worker that its code names",
  description:
    "Signed with the key in the code, which is never sent: both sides derive the host's secret from that " +
    "key and the `salt`.",
  request: { headers, body: signedBody(EnrollRequest) },
  responses: { 200: jsonAnswer("what the host needs to start", HostSetup) },
});

const Hello = z
  .object({ address: z.string().describe("where this Drover listens, as `host:port`") })
  .meta({ id: "Hello" });

const hello = operation({
  method: "get",
  path: "/v1/hosts/{worker}/hello",
  operationId: "greetHost",
  tag: "Hosts",
  access: "host",
  codes: ["not_found"],
  summary: "Proves to a host that a local Drover is the right one",
  description:
    "On loopback there is no certificate, and another program may have taken the port. A host calls this " +
    "first on each connection, signed with its secret or, to enroll, with its code: the answer's signature " +
    "is the proof, for the address to which the host is connected. A Drover that is reached by HTTPS " +
    "answers `not_found`.",
  request: signed,
  responses: { 200: jsonAnswer("a signed answer", Hello) },
});

const join = operation({
  method: "post",
  path: "/v1/hosts/{worker}/join",
  operationId: "joinHost",
  tag: "Hosts",
  access: "host",
  codes: ["enrollment_over", "cloned", "stale_incarnation", "busy"],
  summary: "A start of the agent: a new incarnation",
  request: { ...signed, body: signedBody(JoinRequest) },
  responses: { 200: jsonAnswer("what the host needs to begin", HostSetup) },
});

const report = operation({
  method: "post",
  path: "/v1/hosts/{worker}/reports",
  operationId: "reportHost",
  tag: "Hosts",
  access: "host",
  codes: ["enrollment_over", "cloned", "stale_incarnation", "busy"],
  summary: "A report goes in, orders come back",
  description:
    "A report in plain text is the output of a run probe: one line for each live run, `<run> stale`, " +
    "`broken`, `boot ok` once the boot probe has succeeded, and `orders <revision>` for the applied orders.",
  request: {
    ...signed,
    // Plain text is for hosts that are shell scripts (`src/probes/plain-text.ts`).
    body: signedBody(Report, { "text/plain": { schema: { type: "string" } } }),
    query: z.strictObject({ wait: Wait.optional() }),
  },
  responses: { 200: jsonAnswer("the orders", OrdersDocument) },
});

const socket = operation({
  method: "get",
  path: "/v1/hosts/{worker}/socket",
  operationId: "openHostSocket",
  tag: "Hosts",
  access: "host",
  codes: ["enrollment_over", "forbidden", "upgrade_required", "busy"],
  summary: "The same exchange over a WebSocket: each frame is a report, or orders",
  description:
    "The first frame is a challenge; each frame has a number and an HMAC in its first line. Orders come " +
    "whenever they change. `ping` is answered with `pong`. A refused report closes the socket, after " +
    "a frame that says why.",
  request: signed,
  responses: { 101: { description: "the socket" } },
});

/** Adds the routes of hosts (host-protocol.md#exchange). They need a code or a signature, not a token. */
export function hostRoutes(app: EdgeApp): void {
  app.openapi(enroll, async (c) => {
    const { worker, expiresAt, codeKey, digest } = claimByCode(c, "enroll");
    const { body } = await bodyOf(c);
    if (contentDigest(body) !== digest) throw otherBody();
    const call = { body, codeKey: textOfKey(codeKey), expiresAt };
    return c.json(await c.env.objects.worker(worker).enroll(call), 200);
  });
  app.openapi(hello, async (c) => {
    const address = provenAddress(c.env.url);
    await answerHello(c, c.req.valid("param").worker);
    return c.json({ address }, 200);
  });
  app.openapi(join, async (c) => {
    const { worker } = c.req.valid("param");
    return unlessTooFast(c, worker, async () => {
      const call = await signedCall(c, "join", worker);
      return c.json(unwrapAnswer(c, worker, await c.env.objects.worker(worker).join(call)), 200);
    });
  });
  app.openapi(report, async (c) => {
    const holdMs = waitMs(c.req.valid("query").wait, MAX_REPORT_WAIT_MS);
    const { worker } = c.req.valid("param");
    return unlessTooFast(c, worker, async () => {
      const call = await signedCall(c, "report", worker);
      return c.json(unwrapAnswer(c, worker, await c.env.objects.worker(worker).report(call, holdMs)), 200);
    });
  });
  app.openapi(socket, (c) => {
    const { worker } = c.req.valid("param");
    return unlessTooFast(c, worker, () => openSocket(c, worker));
  });
}

/** Opens a host's socket at its worker. Throws the worker's refusal. */
async function openSocket(c: EdgeContext, worker: string): Promise<Response> {
  claimOfHost(c, "socket", worker);
  if (c.req.header("upgrade")?.toLowerCase() !== "websocket") {
    throw new DroverError("upgrade_required", "this route is a WebSocket: send `Upgrade: websocket`");
  }
  const answer = await c.env.objects.worker(worker).fetch(c.req.raw);
  if (answer.status === SWITCHING_PROTOCOLS) return answer;
  // `CloudWorkerApi.fetch` promises this type.
  const { answerKey, refused } = (await answer.json()) as SocketRefusal;
  if (answerKey !== undefined) unwrapAnswer(c, worker, { answerKey, refused });
  throw new DroverError(refused.code, refused.message);
}

/** A call with its unverified claim and its body. Throws `bad_signature` if there is no claim. */
export async function signedCall(
  c: EdgeContext,
  purpose: "join" | "report" | "secrets",
  worker: string,
): Promise<SignedCall> {
  return { ...claimOfHost(c, purpose, worker), ...(await bodyOf(c)) };
}

async function bodyOf(c: EdgeContext): Promise<Pick<SignedCall, "body" | "plain">> {
  // Decode the bytes as they were signed: `text()` would drop a byte order mark.
  const body = utf8Text(await c.req.arrayBuffer());
  const type = c.req.header("content-type")?.split(";")[0]?.trim().toLowerCase();
  // `fetch` labels JSON as text/plain if the caller sets no type. No line of a plain report begins with a
  // brace.
  const plain = type === "text/plain" && !body.trimStart().startsWith("{");
  return { body, plain };
}
