import { createRoute } from "@hono/zod-openapi";
import { z } from "zod";
import { DroverError } from "../core/errors.ts";
import { MAX_REPORT_WAIT_MS } from "../core/limits.ts";
import type { SignedCall } from "../objects/rpc.ts";
import { Name } from "../schema/common.ts";
import { EnrollRequest, HostSetup, JoinRequest, type Orders, Report, workerOfCode } from "../schema/host.ts";
import type { EdgeApp, EdgeContext } from "./edge.ts";
import { refuse } from "./invalid.ts";
import { jsonAnswer, jsonBody, problemAnswer, Wait, waitMs } from "./params.ts";
import { SignatureHeaders, signatureOf } from "./signature.ts";

/** Nothing at the edge reads orders, so they have no schema that checks them: only a name in the document. */
const OrdersDocument = z.custom<Orders>().meta({
  id: "Orders",
  type: "object",
  description:
    "what the host shall hold: incarnation, revision, answers, leaseMs, reportWithinMs, attempts, logs",
});

const enroll = createRoute({
  method: "post",
  path: "/v1/hosts/enroll",
  summary: "A machine becomes the host of the worker that its code names",
  request: { query: z.strictObject({}), body: jsonBody(EnrollRequest) },
  responses: { 200: jsonAnswer("what the host needs to begin", HostSetup), default: problemAnswer },
});

/** The signature counts for the bytes of the body, so it is verified before anything else is read of it. */
function signedRequest(body: z.ZodType) {
  // As JSON Schema it stands in the document, and checks nothing.
  const schema: object = z.toJSONSchema(body);
  return {
    params: z.object({ worker: Name.meta({ description: "the worker's id" }) }),
    headers: SignatureHeaders,
    body: {
      required: true,
      content: { "application/json": { schema } },
    },
  };
}

const join = createRoute({
  method: "post",
  path: "/v1/hosts/{worker}/join",
  summary: "A start of the agent: a new incarnation",
  request: { ...signedRequest(JoinRequest), query: z.strictObject({}) },
  responses: { 200: jsonAnswer("what the host needs to begin", HostSetup), default: problemAnswer },
});

const report = createRoute({
  method: "post",
  path: "/v1/hosts/{worker}/reports",
  summary: "A report goes in, orders come back",
  request: { ...signedRequest(Report), query: z.strictObject({ wait: Wait.optional() }) },
  responses: { 200: jsonAnswer("the orders", OrdersDocument), default: problemAnswer },
});

/** Adds what hosts say to the control plane (`host-protocol.md`). No token: a code, or a signature. */
export function hostRoutes(app: EdgeApp): void {
  // A host's clock may be wrong: it corrects itself by the date of each answer, of refusals above all.
  app.use("/v1/hosts/*", async (c, next) => {
    await next();
    c.res.headers.set("Date", new Date().toUTCString());
  });
  app.openapi(
    enroll,
    async (c) => {
      const request = c.req.valid("json");
      const worker = workerOfCode(request.code);
      if (worker === undefined) {
        throw new DroverError(
          "bad_signature",
          "this is no enrollment code of Drover; look at how it was copied",
        );
      }
      return c.json(await c.env.objects.worker(worker).enroll(request), 200);
    },
    refuse(),
  );
  app.openapi(
    join,
    async (c) =>
      c.json(await c.env.objects.worker(c.req.valid("param").worker).join(await signedCall(c)), 200),
    refuse(),
  );
  app.openapi(
    report,
    async (c) => {
      const holdMs = waitMs(c.req.valid("query").wait, MAX_REPORT_WAIT_MS);
      const worker = c.env.objects.worker(c.req.valid("param").worker);
      return c.json(await worker.report(await signedCall(c), holdMs), 200);
    },
    refuse(),
  );
}

async function signedCall(c: EdgeContext): Promise<SignedCall> {
  return { ...signatureOf(c), body: await c.req.text() };
}
