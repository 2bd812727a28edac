// The routes of Drover as an issuer of tokens: who it is, its keys, and their replacement (oidc.md#out).
import { IssuerDocument, IssuerKeyReplacement, KeySet } from "../../schema/access/identity.ts";
import { DroverError } from "../../shared/errors.ts";
import type { EdgeApp } from "../edge.ts";
import { OPEN, operation } from "../openapi/operation.ts";
import { jsonAnswer } from "../openapi/params.ts";
import { OWN_ALGORITHM, type OwnKeys } from "./own-keys.ts";

/** How long others may remember who Drover is and its keys. A key is published a day before it signs. */
const CACHE = "public, max-age=300";

const configuration = operation({
  ...OPEN,
  path: "/.well-known/openid-configuration",
  operationId: "getIssuer",
  codes: ["not_found"],
  summary: "Who this Drover is as an issuer of tokens (OpenID Connect Discovery)",
  responses: { 200: jsonAnswer("what those need who verify its tokens", IssuerDocument, ["Cache-Control"]) },
});

const keySet = operation({
  ...OPEN,
  path: "/.well-known/jwks.json",
  operationId: "getIssuerKeys",
  codes: ["no_wrapping_key", "unavailable"],
  summary: "The public keys of the tokens that this Drover signs (RFC 7517)",
  description:
    "A key is here a day before it signs, and for two hours after: whoever remembers the keys should ask " +
    "again for a `kid` that is not among them.",
  responses: { 200: jsonAnswer("the keys", KeySet, ["Cache-Control"]) },
});

const replaceKeys = operation({
  tag: "Tokens",
  access: "admin",
  method: "post",
  path: "/v1/issuer/keys/replace",
  operationId: "replaceIssuerKeys",
  codes: ["no_wrapping_key"],
  summary: "Replace the keys of this Drover at once, because somebody else may know them",
  description:
    "All former keys, and one that was to follow, are deleted; a new one signs from now on. Every part of " +
    "the edge publishes it within 5 min. Those who verify tokens may remember the former keys for longer, " +
    "and refuse tokens of the new one until they read the keys again.",
  responses: { 200: jsonAnswer("they are replaced", IssuerKeyReplacement) },
});

/** Adds the open routes of Drover as an issuer, and the one that replaces its keys (oidc.md#out). */
export function ownIssuerRoutes(app: EdgeApp, keys: OwnKeys): void {
  app.openapi(configuration, (c) => {
    const issuer = issuerOf(c.env.url);
    c.header("Cache-Control", CACHE);
    return c.json(
      {
        issuer,
        jwks_uri: `${issuer}/.well-known/jwks.json`,
        response_types_supported: ["id_token"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: [OWN_ALGORITHM],
        scopes_supported: ["openid"],
        claims_supported: [...CLAIMS],
      },
      200,
    );
  });
  app.openapi(keySet, async (c) => {
    const published = await keys.published(c.env);
    c.header("Cache-Control", CACHE);
    const shown = published.map((key) => ({
      kty: "RSA" as const,
      use: "sig" as const,
      alg: OWN_ALGORITHM,
      ...key,
    }));
    return c.json({ keys: shown }, 200);
  });
  app.openapi(replaceKeys, async (c) => {
    const { signer } = await keys.replace(c.var.caller.by, { ...c.env, objects: c.var.objects });
    return c.json({ kid: signer.kid }, 200);
  });
}

/** The claims of the tokens of runs (oidc.md#claims). */
const CLAIMS = [
  "iss",
  "sub",
  "aud",
  "exp",
  "nbf",
  "iat",
  "jti",
  "run",
  "project",
  "pool",
  "worker",
  "task",
  "attempt",
  "labels",
] as const;

/** The name of this Drover as an issuer: its URL. Throws `not_found` if it does not know its URL. */
export function issuerOf(url: string): string {
  if (url !== "") return url;
  throw new DroverError("not_found", "this Drover does not know its URL, so it is no issuer; set DROVER_URL");
}
