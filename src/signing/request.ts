// How does a host sign a request (RFC 9421), and how is its claim read and verified?
import { isSame, type Key, mac } from "./mac.ts";

/** The purposes of signatures, one for each route. A signature is not valid for any other purpose. */
export const PURPOSES = [
  "enroll",
  "get-snapshot",
  "hello",
  "join",
  "log",
  "put-snapshot",
  "report",
  "secrets",
  "socket",
] as const;
export type Purpose = (typeof PURPOSES)[number];

/** A request on the wire. `query` begins with `?`, or is empty. */
export interface Request {
  method: string;
  path: string;
  query: string;
}

/** The parameters of a signature. */
export interface Params {
  /** Seconds since 1970. */
  created: number;
  /** Different for each call: 16 to 64 letters, digits, `-` and `_`. */
  nonce: string;
  /** The key's owner: the worker's id, or the claim of a code when enrolling. */
  keyid: string;
  purpose: Purpose;
}

/** The three headers of a signed message, in lower case. */
export interface SignedHeaders {
  "content-digest": string;
  "signature-input": string;
  signature: string;
}

/** A signed request as its headers claim. Nothing is verified. */
export interface ClaimedRequest extends Params {
  /** The value of `Content-Digest`. */
  digest: string;
  /** HMAC-SHA256 of `base`, in base64. */
  signature: string;
  /** The text that is signed (RFC 9421 §2.5). */
  base: string;
}

const COVERED = '("@method" "@path" "@query" "content-digest")';
const LABEL = "drover";
const INPUT = new RegExp(
  String.raw`^drover=\("@method" "@path" "@query" "content-digest"\);created=(\d{1,12});` +
    String.raw`nonce="([\w-]{16,64})";keyid="([a-z0-9.-]{1,128})";tag="drover-([a-z-]{1,16})"$`,
);
const SIGNATURE = /^drover=:([A-Za-z0-9+/]{43}=):$/;
const DIGEST = /^sha-256=:[A-Za-z0-9+/]{43}=:$/;
/** The longest valid header. */
const MAX_HEADER_CHARS = 400;

/** Signs a request. `digest` is the value of `Content-Digest` for its body. */
export function signRequest(key: Key, request: Request, digest: string, params: Params): SignedHeaders {
  const signed = paramsText(params);
  return signedHeaders(digest, signed, mac(key, requestBase(request, digest, signed)));
}

/** The headers of a message, from its digest, the parameters of its signature, and the base64 signature. */
export function signedHeaders(digest: string, params: string, signature: string): SignedHeaders {
  return {
    "content-digest": digest,
    "signature-input": `${LABEL}=${params}`,
    signature: `${LABEL}=:${signature}:`,
  };
}

/**
 * Parses the headers of a signed request; undefined if malformed. Computes no HMAC, so it is cheap even for
 * requests from strangers.
 */
export function claimedRequest(
  request: Request,
  header: (name: keyof SignedHeaders) => string | undefined,
): ClaimedRequest | undefined {
  const [digest = "", input = ""] = [header("content-digest"), header("signature-input")];
  if (Math.max(digest.length, input.length) > MAX_HEADER_CHARS || !DIGEST.test(digest)) return undefined;
  const signature = signatureIn(header("signature"));
  const [, created, nonce, keyid, tag] = INPUT.exec(input) ?? [];
  const purpose = PURPOSES.find((one) => one === tag);
  if (signature === undefined || nonce === undefined || keyid === undefined || purpose === undefined) {
    return undefined;
  }
  const params = { created: Number(created), nonce, keyid, purpose };
  // Refuses other spellings of the same values, such as leading zeros.
  if (input !== `${LABEL}=${paramsText(params)}`) return undefined;
  return { ...params, digest, signature, base: requestBase(request, digest, paramsText(params)) };
}

/** Whether a request was signed with this key. Costs one HMAC of a few hundred bytes. */
export function isSignedWith(key: Key, { base, signature }: ClaimedRequest): boolean {
  return isSame(mac(key, base), signature);
}

/** The text that is signed (RFC 9421 §2.5). */
function requestBase({ method, path, query }: Request, digest: string, params: string): string {
  return [
    `"@method": ${method}`,
    `"@path": ${path}`,
    `"@query": ${query === "" ? "?" : query}`,
    `"content-digest": ${digest}`,
    `"@signature-params": ${params}`,
  ].join("\n");
}

function paramsText({ created, nonce, keyid, purpose }: Params): string {
  return `${COVERED};created=${created};nonce="${nonce}";keyid="${keyid}";tag="drover-${purpose}"`;
}

/** The signature in its header, in base64; undefined if malformed. */
export function signatureIn(field: string | undefined): string | undefined {
  if ((field?.length ?? 0) > MAX_HEADER_CHARS) return undefined;
  return SIGNATURE.exec(field ?? "")?.[1];
}
