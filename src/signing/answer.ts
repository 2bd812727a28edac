// How does the control plane sign an answer to a host, and how does the host verify it (protocol.md)?
import { contentDigest, isSame, type Key, keyOf, mac } from "./mac.ts";
import { type SignedHeaders, signatureIn, signedHeaders } from "./request.ts";

/** An answer as received. Nothing in it is verified. */
export interface ClaimedAnswer {
  status: number;
  body: string | Uint8Array;
  header(name: keyof SignedHeaders): string | undefined;
}

const COVERED = '("@status" "content-digest")';
const INPUT = new RegExp(
  String.raw`^drover=(\("@status" "content-digest"\);created=(\d{1,12});` +
    'keyid="([a-z0-9.-]{1,128})";tag="drover-answer")$',
);

/**
 * The key for the answer to one request, in base64, derived from the request's key and signature. The key is
 * valid for this answer only. So the code that verifies a request can pass the key to the code that signs the
 * answer.
 */
export function answerKey(key: Key, signature: string): string {
  return mac(key, "drover-answer\n", signature);
}

/** Signs an answer. `created` is the control plane's time in seconds since 1970. */
export function signAnswer(
  key: string,
  { status, body }: Pick<ClaimedAnswer, "status" | "body">,
  { created, keyid }: { created: number; keyid: string },
): SignedHeaders {
  const digest = contentDigest(body);
  const params = `${COVERED};created=${created};keyid="${keyid}";tag="drover-answer"`;
  return signedHeaders(digest, params, mac(keyOf(key), answerBase(status, digest, params)));
}

/** When an answer was signed, in seconds since 1970; undefined unless it is signed with this key. */
export function verifiedAnswer(key: string, keyid: string, answer: ClaimedAnswer): number | undefined {
  const [, params, created, claimed] = INPUT.exec(answer.header("signature-input") ?? "") ?? [];
  const [digest, signature] = [answer.header("content-digest"), signatureIn(answer.header("signature"))];
  if (params === undefined || claimed !== keyid || digest === undefined || signature === undefined) {
    return undefined;
  }
  const signed = mac(keyOf(key), answerBase(answer.status, digest, params));
  if (!isSame(signed, signature) || contentDigest(answer.body) !== digest) return undefined;
  return Number(created);
}

/** The text that is signed (RFC 9421 §2.5). */
function answerBase(status: number, digest: string, params: string): string {
  return [`"@status": ${status}`, `"content-digest": ${digest}`, `"@signature-params": ${params}`].join("\n");
}
