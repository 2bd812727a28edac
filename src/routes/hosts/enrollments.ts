// The route that makes an enrollment code for a self-hosted machine (api.md#enrollments).
import { z } from "zod";
import { Enrollment, EnrollmentRequest } from "../../schema/enrollment.ts";
import { sha256 } from "../../shared/access/key-ids.ts";
import { durationMs } from "../../shared/duration.ts";
import { DroverError } from "../../shared/errors.ts";
import { isSafeAddress } from "../../shared/proof.ts";
import { iso } from "../../shared/time/instant.ts";
import type { EdgeApp } from "../edge.ts";
import { operation } from "../openapi/operation.ts";
import { IdempotencyKey, jsonAnswer, jsonBody } from "../openapi/params.ts";

/** How many characters of a key's hash a worker's name contains. The name has no room for more. */
const KEY_HASH_CHARS = 12;

const create = operation({
  method: "post",
  path: "/v1/enrollments",
  operationId: "createEnrollment",
  access: "enroll",
  tag: "Workers",
  codes: ["unknown_pool", "pool_draining", "busy", "idempotency_mismatch", "not_acknowledged"],
  summary: "A one-time code with which a self-hosted machine can join a pool",
  request: {
    headers: z.object({ "idempotency-key": IdempotencyKey.optional() }),
    body: jsonBody(EnrollmentRequest),
  },
  responses: {
    200: jsonAnswer("it existed already", Enrollment, ["Idempotency-Replayed"]),
    201: jsonAnswer("it is valid from now on; `Location` is the path of its worker", Enrollment, [
      "Location",
    ]),
  },
});

/** Adds the route by which self-hosted machines join (api.md#enrollments). */
export function enrollmentRoutes(app: EdgeApp): void {
  app.openapi(create, async (c) => {
    const { url } = c.env;
    if (url === "") {
      const text = "DROVER_URL is not set, so a host would not know where to report; set it and deploy again";
      throw new DroverError("internal", text);
    }
    if (!isSafeAddress(url)) {
      const text = `DROVER_URL is ${url}, which hosts refuse; it must be https, or http with 127.0.0.1`;
      throw new DroverError("internal", text);
    }
    const request = c.req.valid("json");
    const key = c.req.valid("header")["idempotency-key"];
    const keyHash = key === undefined ? undefined : (await sha256(key)).slice(0, KEY_HASH_CHARS);
    const { worker, code, expiresAt, replayed } = await c.var.objects
      .pool(request.pool)
      .invite({ ttlMs: durationMs(request.ttl), by: c.var.caller.by, keyHash });
    const answer: Enrollment = {
      code,
      worker,
      pool: request.pool,
      expiresAt: iso(expiresAt),
      command: `curl -fsSL ${url}/agent/install.sh | DROVER_CODE=${code} sh -s --`,
    };
    if (replayed) {
      c.header("Idempotency-Replayed", "true");
      return c.json(answer, 200);
    }
    c.header("Location", `/v1/workers/${worker}`);
    return c.json(answer, 201);
  });
}
