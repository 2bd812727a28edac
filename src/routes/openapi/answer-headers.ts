import { MAX_LOG_BYTES } from "../../shared/limits.ts";
import { formatSize } from "../../shared/size.ts";

/** Headers of answers that mean something to a client, for the document. */
const HEADERS = {
  "Accept-Ranges": "`bytes`: a part can be asked for by `Range`",
  "Content-Digest": "the SHA-256 of the body (RFC 9530)",
  "Content-Length": "how many bytes the body has; of an answer to HEAD: would have",
  "Content-Range": "which bytes these are; of a refusal: how many there are",
  "Drover-Attempt":
    "the end of the id of the attempt that wrote this, such as `1.1`; absent while there is none",
  "Drover-Dropped-Bytes": `how many bytes beyond ${formatSize(MAX_LOG_BYTES)} are lost; absent if none is`,
  ETag: "names these bytes, for `If-None-Match`",
  "Idempotency-Replayed": "`true`: the same request was made before",
  Location: "the path of what is meant",
  "Repr-Digest": "the SHA-256 of the file (RFC 9530)",
  "Retry-After": "seconds after which the same request is worth sending again",
  Signature: "`drover=:<base64>:`: that this is the answer to this very call (RFC 9421)",
  "Signature-Input": "what of the answer is signed, and when",
  "WWW-Authenticate": "`Bearer`: how to show a token",
} as const;

/** What an answer to a host has once the host has shown who it is. */
export const SIGNED = ["Content-Digest", "Signature", "Signature-Input"] as const;

type HeaderName = keyof typeof HEADERS;

/** Headers that are counts. */
const COUNTS: readonly HeaderName[] = ["Content-Length", "Drover-Dropped-Bytes", "Retry-After"];

/** The declaration of these headers, as an answer of the document has it. */
export function headersOf(...names: HeaderName[]): Record<string, { description: string; schema: object }> {
  return Object.fromEntries(
    names.map((name) => {
      const schema = COUNTS.includes(name) ? { type: "integer", minimum: 0 } : { type: "string" };
      return [name, { description: HEADERS[name], schema }];
    }),
  );
}
