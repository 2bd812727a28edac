// The routes of secrets: set, list, remove (secrets.md#api). No route shows a value.
import { z } from "zod";
import { SecretList, SecretValue, StoredSecret } from "../schema/access/secret.ts";
import { SecretName } from "../schema/run/secret-name.ts";
import { keyOf, keyOfText } from "../signing/mac.ts";
import { namedBy } from "./access/caller.ts";
import type { EdgeApp } from "./edge.ts";
import { operation } from "./openapi/operation.ts";
import { jsonAnswer, jsonBody } from "./openapi/params.ts";

const SecretParams = z.object({ name: SecretName.describe("the secret's name") });

const ofSecrets = { tag: "Secrets", access: "secrets:write" } as const;

const list = operation({
  ...ofSecrets,
  method: "get",
  path: "/v1/secrets",
  operationId: "listSecrets",
  summary: "All secrets by name, without their values, and the state of the wrapping keys",
  responses: { 200: jsonAnswer("the secrets", SecretList) },
});

const put = operation({
  ...ofSecrets,
  method: "put",
  path: "/v1/secrets/{name}",
  operationId: "putSecret",
  codes: ["secret_exists", "no_wrapping_key", "busy"],
  summary: "Store a secret, or another value for it",
  description:
    "Nothing shows the value again. Attempts that start from now on get it; one that runs keeps the value " +
    "that it has.",
  request: { params: SecretParams, body: jsonBody(SecretValue) },
  responses: { 200: jsonAnswer("it is stored", StoredSecret) },
});

const remove = operation({
  ...ofSecrets,
  method: "delete",
  path: "/v1/secrets/{name}",
  operationId: "deleteSecret",
  codes: ["unknown_secret"],
  summary: "Remove a secret, for good",
  description: "An attempt that names it and has not started yet will fail to start.",
  request: { params: SecretParams },
  responses: { 204: { description: "it is removed" } },
});

/** Adds the routes of secrets (secrets.md#api). */
export function secretRoutes(app: EdgeApp): void {
  app.openapi(list, async (c) => {
    const found = await c.var.objects.registry().secrets(c.var.caller.project);
    return c.json({ ...found, next: null }, 200);
  });
  app.openapi(put, async (c) => {
    const { value, base64 = "", use } = c.req.valid("json");
    const bytes = value === undefined ? keyOf(base64) : keyOfText(value);
    const { caller, objects } = c.var;
    const secret = { ...namedBy(caller, c.req.valid("param").name), value: bytes, use };
    return c.json(await objects.registry().setSecret(secret, caller.by), 200);
  });
  app.openapi(remove, async (c) => {
    const { caller, objects } = c.var;
    await objects.registry().removeSecret(namedBy(caller, c.req.valid("param").name), caller.by);
    return c.body(null, 204);
  });
}
