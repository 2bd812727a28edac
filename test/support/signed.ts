import { randomBytes, randomUUID } from "node:crypto";
import { readCode } from "../../src/signing/code.ts";
import { contentDigest, type Key, keyOf } from "../../src/signing/mac.ts";
import { type Purpose, type SignedHeaders, signRequest } from "../../src/signing/request.ts";

/** Who signs: a host by its worker's name and its secret, or a machine by its code. */
export type Signer = { worker: string; secret: string } | { code: string };

/** What a test may sign differently from what it sends. */
export interface Otherwise {
  nonce?: string;
  atMs?: number;
  keyid?: string;
  digest?: string;
}

/** A secret that no control plane knows. */
export function strangeSecret(): string {
  return randomBytes(32).toString("base64");
}

/** The headers that sign a call. `target`: its path and query, as they are sent. */
export function signedBy(
  signer: Signer,
  purpose: Purpose,
  [method, target]: [string, string],
  body: string | Uint8Array = "",
  more: Otherwise = {},
): SignedHeaders & Record<string, string> {
  const { key, keyid } = identityOf(signer);
  const [path = "", query] = target.split(/(?=\?)/);
  const { nonce = randomUUID(), atMs = Date.now(), digest = contentDigest(body) } = more;
  const params = { created: Math.floor(atMs / 1_000), nonce, keyid: more.keyid ?? keyid, purpose };
  const request = { method, path, query: query === "?" ? "" : (query ?? "") };
  return { ...signRequest(key, request, digest, params) };
}

function identityOf(signer: Signer): { key: Key; keyid: string } {
  if ("secret" in signer) return { key: keyOf(signer.secret), keyid: signer.worker };
  const { key, claim } = readCode(signer.code) ?? { key: new Uint8Array(32), claim: "nobody.1" };
  return { key, keyid: claim };
}

/** The purpose for which a call is signed, by its method and path. */
export function purposeOf(method: string, path: string): Purpose {
  if (path.endsWith("/enroll")) return "enroll";
  if (path.includes("/snapshots/")) return method === "PUT" ? "put-snapshot" : "get-snapshot";
  if (path.includes("/logs/")) return "log";
  if (path.endsWith("/hello")) return "hello";
  if (path.endsWith("/join")) return "join";
  if (path.endsWith("/secrets")) return "secrets";
  return path.endsWith("/socket") ? "socket" : "report";
}
