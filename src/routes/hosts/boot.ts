// The routes of a machine that boots: what its script reports, and where it may fetch Node.
import { z } from "zod";
import { MAX_BOOT_RECORD_BYTES } from "../../shared/cloud/boot-steps.ts";
import { DroverError } from "../../shared/errors.ts";
import { formatSize } from "../../shared/size.ts";
import { readBootToken } from "../../signing/boot-token.ts";
import { readClaim } from "../../signing/code.ts";
import type { EdgeApp, EdgeContext } from "../edge.ts";
import { bearerOf } from "../http/auth.ts";
import { OPEN, operation } from "../openapi/operation.ts";
import { unlessTooFast } from "./host-pace.ts";

const report = operation({
  method: "post",
  path: "/v1/hosts/boot",
  operationId: "reportBoot",
  tag: "Hosts",
  access: "boot",
  codes: ["unknown_worker", "busy"],
  summary: "A machine that boots says how far it is",
  description:
    "For the script that makes a machine a host. The first line is `boot <id>`, with another id for each " +
    "start of the script. Each further line is `<seconds> <step> <text>`, and the last is " +
    "`<seconds> now`. Each report has all steps so far. `GET /v1/workers/{id}` shows them as `boot`.",
  request: { body: { required: true, content: { "text/plain": { schema: z.string() } } } },
  responses: { 204: { description: "it is stored, or was known" } },
});

const archive = operation({
  ...OPEN,
  path: "/node/{file}",
  operationId: "getNode",
  summary: "Node for a machine that has none, if this Drover's bucket has it",
  description:
    "Machines ask here if nodejs.org does not answer. They compare the digest. " +
    "`docs/deploy.md` says how to put the archives into the bucket.",
  codes: ["not_found"],
  request: { params: z.object({ file: z.string() }) },
  responses: {
    200: { description: "the archive", content: { "application/octet-stream": { schema: z.string() } } },
  },
});

/** Adds the routes of machines that boot (clouds.md#boot-record, clouds.md#booting). */
export function bootRoutes(app: EdgeApp): void {
  app.openapi(report, async (c) => {
    const worker = workerOf(c);
    const bytes = await c.req.arrayBuffer();
    if (bytes.byteLength > MAX_BOOT_RECORD_BYTES) {
      const limit = formatSize(MAX_BOOT_RECORD_BYTES);
      throw new DroverError("body_too_large", `the record is too large; the limit is ${limit}`);
    }
    // What the machine says may contain any bytes.
    const text = new TextDecoder().decode(bytes);
    await unlessTooFast(c, worker, () => c.env.objects.worker(worker).reportBoot(text));
    return c.body(null, 204);
  });
  app.openapi(archive, async (c) => {
    const { file } = c.req.valid("param");
    const body = await c.env.objects.nodeArchive(file);
    if (body !== null) return new Response(body, { headers: { "content-type": "application/octet-stream" } });
    const text = `this Drover's bucket has no ${file}; docs/deploy.md says how to put it there`;
    throw new DroverError("not_found", text);
  });
}

/** The worker whose machine asks. Throws `unauthorized`. */
function workerOf(c: EdgeContext): string {
  const claim = readBootToken(bearerOf(c), c.env.signingKey);
  const { worker, expiresAt = 0 } = (claim === undefined ? undefined : readClaim(claim)) ?? {};
  if (worker === undefined) {
    throw new DroverError("unauthorized", "this needs the token of a machine that boots (`drvb_…`)");
  }
  if (c.env.now() <= expiresAt) return worker;
  throw new DroverError("unauthorized", "this token has expired: the machine should be ready by now");
}
