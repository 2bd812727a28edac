// How does a local Drover prove that it is the right one? It proves that it knows the token, without
// revealing the token.
import { z } from "zod";
import type { TokenGrant } from "../objects/rpc.ts";
import { TokenId } from "../schema/access/token.ts";
import { DroverError } from "../shared/errors.ts";
import { loopbackAddress, proofText } from "../shared/proof.ts";
import { base64Url, keyOfText, mac } from "../signing/mac.ts";
import type { EdgeApp, EdgeContext } from "./edge.ts";
import { judged } from "./http/limits.ts";
import { OPEN, operation } from "./openapi/operation.ts";
import { jsonAnswer } from "./openapi/params.ts";

const Nonce = z
  .string()
  .regex(/^[\w-]{22,86}$/, "must be 22 to 86 characters of base64url, random")
  .describe("random bytes in base64url, 128 bits or more, new for each request");

const Proof = z
  .object({
    address: z.string().describe("where this Drover listens, as `host:port`"),
    proof: z
      .string()
      .describe("HMAC-SHA256 of `drover-proof\\n<address>\\n<nonce>` with the token, in base64url"),
    older: z.string().optional().describe("the same by the secret before, while a rotation overlaps"),
  })
  .meta({ id: "Proof" });

const proof = operation({
  ...OPEN,
  path: "/proof",
  operationId: "getProof",
  codes: ["not_found", "too_many_requests", "unavailable"],
  summary: "Proves to a client that a local Drover is the right one",
  description:
    "On loopback there is no certificate, and another program may have taken the port. A client that " +
    "knows the token compares the proof with its own, for the address to which it is connected, and sends " +
    "the token on that connection only. A Drover that is reached by HTTPS answers `not_found`.",
  request: {
    query: z.strictObject({
      nonce: Nonce,
      token: TokenId.optional().describe(
        "the id of a token, for a proof by the base64 of its SHA-256; by default the proof is by the " +
          "Worker's own secret",
      ),
    }),
  },
  responses: { 200: jsonAnswer("the proof", Proof) },
});

/**
 * Adds the route by which a local Drover proves that it knows a token. The route itself needs no token. An
 * answer costs one short HMAC for each valid secret.
 */
export function proofRoute(app: EdgeApp): void {
  app.openapi(proof, async (c) => {
    // Only a local Drover answers. On other Drovers, a person may have chosen a short token, and a proof
    // would help to guess that token.
    const address = provenAddress(c.env.adminToken ? c.env.url : "");
    const { nonce, token } = c.req.valid("query");
    const text = proofText(address, nonce);
    const proofBy = (key: string) => base64Url(mac(keyOfText(key), text));
    if (token === undefined) return c.json({ address, proof: proofBy(c.env.adminToken) }, 200);
    const grant = await grantOf(c, token);
    // For a token that is not valid, the key is random: nobody knows the key, so the proof matches no other
    // proof.
    const [key = crypto.randomUUID(), older] = (grant?.digests ?? []).map(({ digest }) => base64In(digest));
    return c.json({ address, proof: proofBy(key), ...(older && { older: proofBy(older) }) }, 200);
  });
}

/**
 * The grant of a token, from memory or by a look-up, which counts for the address if the token is not known
 * here (access.md#rate-limits). Code: `too_many_requests`.
 */
async function grantOf(c: EdgeContext, id: string): Promise<TokenGrant | null> {
  const { tokens, guesses } = c.var.access;
  const remembered = tokens.remembered(id, c.env.now());
  if (remembered !== undefined) return remembered;
  const lookUp = () => tokens.shared(id, c.env);
  if (tokens.hasKnownId(id)) return lookUp();
  const guess = { kind: guesses.proof, secret: id };
  const isShared = () => tokens.isAsked(id, c.env.now());
  return (await judged(c, guess, async () => (await lookUp()) ?? undefined, isShared)) ?? null;
}

/** The digest in a value of `Content-Digest`. */
function base64In(digest: string): string {
  return digest.slice("sha-256=:".length, -1);
}

/** The loopback address that a proof is about. Throws `not_found` for a Drover with a certificate. */
export function provenAddress(url: string): string {
  const address = loopbackAddress(url);
  if (address !== undefined) return address;
  const text = "only a Drover on loopback gives a proof; elsewhere verify the certificate";
  throw new DroverError("not_found", text);
}
