// How is a request to AWS signed (Signature Version 4, in the `Authorization` header)?
import type { AwsKeys } from "./keys.ts";

const ALGORITHM = "AWS4-HMAC-SHA256";
const encoder = new TextEncoder();
type Bytes = Uint8Array<ArrayBuffer>;

/** What a signature is valid for. */
export interface Scope {
  region: string;
  service: string;
}

/** A request whose headers are all signed. Header names are in lower case. The URL has no query. */
export interface Unsigned {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string;
}

/**
 * Signs a request, and resolves with all headers that it must be sent with. `host` is signed as `fetch` sends
 * it, and is not among them. `at`: the time of the signature, which AWS compares with its own clock
 * (clouds/ec2.md#signature).
 */
export async function signed(
  { method, url, headers, body }: Unsigned,
  keys: AwsKeys,
  { region, service }: Scope,
  at: number,
): Promise<Record<string, string>> {
  const date = new Date(at).toISOString().replace(/[-:]|\.\d+/g, "");
  const sent: Record<string, string> = { ...headers, "x-amz-date": date };
  if (keys.sessionToken !== undefined) sent["x-amz-security-token"] = keys.sessionToken;
  const { host, pathname } = new URL(url);
  const named = Object.entries({ ...sent, host }).sort(([a], [b]) => (a < b ? -1 : 1));
  const names = named.map(([name]) => name).join(";");
  const lines = named.map(([name, value]) => `${name}:${value.trim().replace(/ +/g, " ")}\n`).join("");
  const canonical = [method, pathname, "", lines, names, hex(await sha256(body))].join("\n");
  const day = date.slice(0, 8);
  const scope = [day, region, service, "aws4_request"].join("/");
  const toSign = [ALGORITHM, date, scope, hex(await sha256(canonical))].join("\n");
  const key = await signingKey(keys.secretAccessKey, day, { region, service });
  const signature = hex(await hmac(key, toSign));
  const credential = `Credential=${keys.accessKeyId}/${scope}`;
  const authorization = `${ALGORITHM} ${credential}, SignedHeaders=${names}, Signature=${signature}`;
  return { ...sent, authorization };
}

/** The key of one day, region and service. `day`: as `20261122`. */
async function signingKey(secret: string, day: string, { region, service }: Scope): Promise<Bytes> {
  let key: Bytes = Uint8Array.from(encoder.encode(`AWS4${secret}`));
  for (const part of [day, region, service, "aws4_request"]) key = await hmac(key, part);
  return key;
}

async function hmac(key: Bytes, text: string): Promise<Bytes> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", key, algorithm, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, encoder.encode(text)));
}

async function sha256(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(text)));
}

function hex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
