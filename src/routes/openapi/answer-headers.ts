// What do the headers of answers mean, in the OpenAPI document?
import { MAX_LOG_BYTES } from "../../shared/limits.ts";
import { formatSize } from "../../shared/size.ts";

/** Response headers that matter to clients, for the document. */
const HEADERS = {
  "Accept-Ranges": "`bytes`: a part can be requested by `Range`",
  "Cache-Control": "for how long the answer may be kept, and by whom",
  "Content-Digest": "the SHA-256 of the body (RFC 9530)",
  "Content-Length": "how many bytes the body has, or would have for HEAD",
  "Content-Range": "which bytes these are; in an error, how many there are",
  "Drover-Attempt":
    "the attempt that wrote this, by the end of its id, such as `1.1`; absent before the first attempt",
  "Drover-Dropped-Bytes": `how many bytes beyond ${formatSize(MAX_LOG_BYTES)} are lost; absent for none`,
  ETag: "identifies these bytes, for `If-None-Match`",
  "Idempotency-Replayed": "`true`: the same request was made before",
  Location: "the path of the resource",
  RateLimit:
    "how many requests the token has left (`r`), and in how many seconds all of them (`t`), such as " +
    '`"requests";r=99;t=7`; in a refusal of wrong secrets, what is left to the address',
  "RateLimit-Policy":
    'how many requests a token has (`q`) in how many seconds (`w`), such as `"requests";q=100;w=60`; in a ' +
    "refusal of wrong secrets, how many of them an address has",
  "Repr-Digest": "the SHA-256 of the file (RFC 9530)",
  "Retry-After": "seconds after which the same request is worth sending again",
  "Set-Cookie": "the session's cookie, or its removal (docs/design/sessions.md)",
  Signature: "`drover=:<base64>:` proves that this answer belongs to this call (RFC 9421)",
  "Signature-Input": "which parts of the answer are signed, and when",
  "WWW-Authenticate": "`Bearer`: how to show a token",
} as const;

/** Headers of answers to verified hosts. */
export const SIGNED = ["Content-Digest", "Signature", "Signature-Input"] as const;

/** Headers of answers to tokens (access.md#rate-limits). */
export const RATED = ["RateLimit", "RateLimit-Policy"] as const;

type HeaderName = keyof typeof HEADERS;

/** Headers that are counts. */
const COUNTS: readonly string[] = [
  "Content-Length",
  "Drover-Dropped-Bytes",
  "Retry-After",
] satisfies HeaderName[];

/** The components of the document that `headersOf` refers to. */
export const HEADER_COMPONENTS = Object.fromEntries(
  Object.entries(HEADERS).map(([name, description]) => {
    const schema = COUNTS.includes(name) ? { type: "integer", minimum: 0 } : { type: "string" };
    return [name, { description, schema }];
  }),
);

/** Declares these headers for an answer in the document, which describes each of them once. */
export function headersOf(...names: HeaderName[]): Record<string, { $ref: string }> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
