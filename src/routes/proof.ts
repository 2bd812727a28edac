// Is a local Drover the right one? It proves that it knows the token, without revealing it.
import { z } from "zod";
import { DroverError } from "../shared/errors.ts";
import { loopbackAddress, proofText } from "../shared/proof.ts";
import { base64Url, keyOfText, mac } from "../signing/mac.ts";
import type { EdgeApp } from "./edge.ts";
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
  })
  .meta({ id: "Proof" });

const proof = operation({
  ...OPEN,
  path: "/proof",
  operationId: "getProof",
  codes: ["not_found"],
  summary: "Proves to a client that a local Drover is the right one",
  description:
    "On loopback there is no certificate, and another program may have taken the port. A client that " +
    "knows the token compares the proof with its own, for the address to which it is connected, and sends " +
    "the token on that connection only. A Drover that is reached by HTTPS answers `not_found`.",
  request: { query: z.strictObject({ nonce: Nonce }) },
  responses: { 200: jsonAnswer("the proof", Proof) },
});

/** Adds the proof of a local Drover. It is open, and costs one short HMAC. */
export function proofRoute(app: EdgeApp): void {
  app.openapi(proof, (c) => {
    // Elsewhere the token may be short and chosen by a person; a proof would help to guess it.
    const address = provenAddress(c.env.adminToken ? c.env.url : "");
    const text = proofText(address, c.req.valid("query").nonce);
    return c.json({ address, proof: base64Url(mac(keyOfText(c.env.adminToken), text)) }, 200);
  });
}

/** The loopback address that a proof is about. Throws `not_found` for a Drover with a certificate. */
export function provenAddress(url: string): string {
  const address = loopbackAddress(url);
  if (address !== undefined) return address;
  const text = "only a Drover on loopback gives a proof; elsewhere verify the certificate";
  throw new DroverError("not_found", text);
}
