// The route by which a host gets the secrets of an attempt that it is about to start (secrets.md#handed).
import { HostSecrets, SecretsRequest } from "../../schema/access/secret.ts";
import type { EdgeApp } from "../edge.ts";
import { operation } from "../openapi/operation.ts";
import { HostParams, jsonAnswer } from "../openapi/params.ts";
import { unlessTooFast } from "./host-pace.ts";
import { signedBody, signedCall } from "./hosts.ts";
import { SignatureHeaders, unwrapAnswer } from "./signature.ts";

const secrets = operation({
  method: "post",
  path: "/v1/hosts/{worker}/secrets",
  operationId: "getHostSecrets",
  tag: "Hosts",
  access: "host",
  codes: [
    "unknown_attempt",
    "unknown_secret",
    "secrets_too_large",
    "no_wrapping_key",
    "enrollment_over",
    "forbidden",
    "busy",
  ],
  summary: "The secrets of an attempt that is about to start, sealed for this host",
  description:
    "Only the host with the private key of its enrollment can open them, and only for this attempt. The " +
    "attempt must be in the present orders, with its task.",
  request: { params: HostParams, headers: SignatureHeaders, body: signedBody(SecretsRequest) },
  responses: { 200: jsonAnswer("the sealed values", HostSecrets) },
});

/** Adds the route by which hosts get secrets (secrets.md#handed). */
export function hostSecretRoutes(app: EdgeApp): void {
  app.openapi(secrets, async (c) => {
    const { worker } = c.req.valid("param");
    return unlessTooFast(c, worker, async () => {
      const call = await signedCall(c, "secrets", worker);
      return c.json(unwrapAnswer(c, worker, await c.env.objects.worker(worker).secrets(call)), 200);
    });
  });
}
