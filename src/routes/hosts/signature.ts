// How the edge checks that a call is signed by a host, and signs its answer (protocol.md).
import { createMiddleware } from "hono/factory";
import { z } from "zod";
import type { SignedAnswer } from "../../objects/rpc.ts";
import { DroverError, notKnown } from "../../shared/errors.ts";
import { answerKey, signAnswer } from "../../signing/answer.ts";
import { claimOf } from "../../signing/claim.ts";
import { codeKey, readClaim } from "../../signing/code.ts";
import { type ClaimedRequest, isSignedWith, type Purpose } from "../../signing/request.ts";
import type { EdgeContext, EdgeTypes } from "../edge.ts";
import { unlessTooFast } from "./host-pace.ts";

/** The headers of a signed call, for the OpenAPI document. `claimOfHost` checks that they are present. */
export const SignatureHeaders = z.object({
  "content-digest": z.string().optional().describe("required; sha-256 of the body (RFC 9530)"),
  "signature-input": z.string().optional().describe("required; what is signed (RFC 9421)"),
  signature: z.string().optional().describe("required; drover=:<base64 HMAC-SHA256>:"),
});

/** Signs answers to hosts, including refusals. An archive needs no signature: its name is its digest. */
export const signAnswers = createMiddleware<EdgeTypes>(async (c, next) => {
  await next();
  const signer = c.get("signer");
  const isText = c.res.headers.get("content-type")?.includes("json") === true;
  if (signer === undefined || !isText) return;
  const body = new Uint8Array(await c.res.clone().arrayBuffer());
  const created = Math.floor(c.env.now() / 1_000);
  const signed = signAnswer(signer.key, { status: c.res.status, body }, { created, keyid: signer.keyid });
  for (const [name, value] of Object.entries(signed)) c.res.headers.set(name, value);
});

/**
 * The unverified claim of a call. Throws `bad_signature` unless the claim names this purpose and this worker.
 */
export function claimOfHost(c: EdgeContext, purpose: Purpose, worker: string): ClaimedRequest {
  return claimOf(c.req.raw, purpose, worker) ?? refuseStranger();
}

/**
 * Verifies, with the signing key, that the caller has the enrollment code of the named worker. Throws
 * `bad_signature`.
 */
export function claimByCode(c: EdgeContext, purpose: "enroll" | "hello") {
  const call = claimOf(c.req.raw, purpose) ?? refuseStranger();
  const claim = readClaim(call.keyid) ?? refuseStranger();
  const key = codeKey(call.keyid, c.env.signingKey);
  if (c.env.signingKey === "" || !isSignedWith(key, call)) return refuseStranger();
  c.set("signer", { key: answerKey(key, call.signature), keyid: call.keyid });
  return { ...call, ...claim, codeKey: key };
}

/**
 * Unwraps a worker's answer to a host, and makes `signAnswers` sign the answer. Throws the worker's refusal.
 */
export function unwrapAnswer<T>(c: EdgeContext, worker: string, answered: SignedAnswer<T>): T {
  c.set("signer", { key: answered.answerKey, keyid: worker });
  if ("value" in answered) return answered.value;
  const { code, message, ...more } = answered.refused;
  throw new DroverError(code, message, more);
}

/**
 * Admits a call that this worker's host has signed for this purpose, unless the host is too fast. Admits a
 * call about an attempt only if the attempt was placed on this worker. Does not read the body.
 */
export function admit(c: EdgeContext, purpose: Purpose, worker: string, attempt?: string) {
  return unlessTooFast(c, worker, () => verifyCall(c, purpose, worker, attempt));
}

async function verifyCall(
  c: EdgeContext,
  purpose: Purpose,
  worker: string,
  attempt?: string,
): Promise<ClaimedRequest> {
  const call = claimOfHost(c, purpose, worker);
  unwrapAnswer(c, worker, await c.env.objects.worker(worker).admit(call, attempt));
  return call;
}

/**
 * Makes `signAnswers` sign the answer to `hello`, so that the host recognizes this Drover. The key is the
 * host's secret or, for a host that has not enrolled yet, its enrollment code. Throws `bad_signature`.
 */
export async function answerHello(c: EdgeContext, worker: string): Promise<void> {
  const { keyid = "" } = claimOf(c.req.raw, "hello") ?? {};
  if (readClaim(keyid)?.worker === worker) claimByCode(c, "hello");
  else await verifyCall(c, "hello", worker);
}

function refuseStranger(): never {
  throw notKnown();
}
