// What does Drover say as an issuer of tokens, and what do its routes answer (oidc.md#out)?
import { z } from "zod";
import { InstantText } from "../common.ts";

/** `GET /.well-known/openid-configuration`. */
export const IssuerDocument = z
  .object({
    issuer: z.string().describe("the URL of this Drover, as `iss` in its tokens"),
    jwks_uri: z.string().describe("where its keys are"),
    response_types_supported: z.array(z.string()),
    subject_types_supported: z.array(z.string()),
    id_token_signing_alg_values_supported: z.array(z.string()),
    scopes_supported: z.array(z.string()),
    claims_supported: z.array(z.string()),
  })
  .meta({ id: "IssuerDocument" });

/** `GET /.well-known/jwks.json`. */
export const KeySet = z
  .object({
    keys: z.array(
      z.object({
        kty: z.literal("RSA"),
        kid: z.string(),
        use: z.literal("sig"),
        alg: z.string(),
        n: z.string(),
        e: z.string(),
      }),
    ),
  })
  .meta({ id: "KeySet" });

export const IssuerKeyReplacement = z
  .object({ kid: z.string().describe("the key that signs from now on, and the only one that is published") })
  .meta({ id: "IssuerKeyReplacement" });

export const IdentityToken = z
  .object({
    value: z.string().describe("the token, a JWT"),
    expiresAt: InstantText,
  })
  .meta({ id: "IdentityToken" });
