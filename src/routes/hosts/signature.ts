import { createMiddleware } from "hono/factory";
import { z } from "zod";
import type { Answered } from "../../objects/rpc.ts";
import { DroverError, notKnown } from "../../shared/errors.ts";
import { answerKey, signAnswer } from "../../signing/answer.ts";
import { claimOf } from "../../signing/claim.ts";
import { codeKey, readClaim } from "../../signing/code.ts";
import { type ClaimedRequest, isSignedWith, type Purpose } from "../../signing/request.ts";
import type { EdgeContext, EdgeTypes } from "../edge.ts";
import { atItsPace } from "./host-pace.ts";

/** The headers of a signed call as the document shows them. Whether they are there, `claimed` says. */
export const SignatureHeaders = z.object({
  "content-digest": z.string().optional().meta({ description: "required; sha-256 of the body (RFC 9530)" }),
  "signature-input": z.string().optional().meta({ description: "required; what is signed (RFC 9421)" }),
  signature: z.string().optional().meta({ description: "required; drover=:<base64 HMAC-SHA256>:" }),
});

/**
 * Signs what a host is answered with: refusals, too, but not the bytes of an archive, which its name proves.
 */
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
 * What a call claims to be signed for, not verified yet. Throws `bad_signature` unless that is this purpose,
 * by
 * this worker.
 */
export function claimed(c: EdgeContext, purpose: Purpose, worker: string): ClaimedRequest {
  return claimOf(c.req.raw, purpose, worker) ?? refuseStranger();
}

/**
 * Finds out by the signing key alone who enrolls: who has the code of the worker that the call names. Throws
 * `bad_signature`.
 */
export function claimedByCode(c: EdgeContext, purpose: "enroll" | "hello") {
  const call = claimOf(c.req.raw, purpose) ?? refuseStranger();
  const claim = readClaim(call.keyid) ?? refuseStranger();
  const key = codeKey(call.keyid, c.env.signingKey);
  if (c.env.signingKey === "" || !isSignedWith(key, call)) return refuseStranger();
  c.set("signer", { key: answerKey(key, call.signature), keyid: call.keyid });
  return { ...call, ...claim, codeKey: key };
}

/** What a host is answered with. From here on its answer is signed. Throws what it is refused with. */
export function settled<T>(c: EdgeContext, worker: string, answered: Answered<T>): T {
  c.set("signer", { key: answered.answerKey, keyid: worker });
  if ("value" in answered) return answered.value;
  const { code, message, ...more } = answered.refused;
  throw new DroverError(code, message, more);
}

/**
 * Lets a call pass that is signed for this by the host of this worker, if that has not said too much of late.
 * One about an attempt passes only if that was placed there. Its body has not been looked at.
 */
export function admit(c: EdgeContext, purpose: Purpose, worker: string, attempt?: string) {
  return atItsPace(c, worker, () => verified(c, purpose, worker, attempt));
}

async function verified(
  c: EdgeContext,
  purpose: Purpose,
  worker: string,
  attempt?: string,
): Promise<ClaimedRequest> {
  const call = claimed(c, purpose, worker);
  settled(c, worker, await c.env.objects.worker(worker).admit(call, attempt));
  return call;
}

/**
 * Lets a host of this worker have a signed answer, by which it knows who answers: by its secret, or by the
 * code that it has not enrolled with yet. Throws `bad_signature`.
 */
export async function answerHello(c: EdgeContext, worker: string): Promise<void> {
  const { keyid = "" } = claimOf(c.req.raw, "hello") ?? {};
  if (readClaim(keyid)?.worker === worker) claimedByCode(c, "hello");
  else await verified(c, "hello", worker);
}

function refuseStranger(): never {
  throw notKnown();
}
