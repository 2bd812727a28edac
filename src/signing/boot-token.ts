// What proves that a booting machine is a worker's own, before it has an agent that can sign
// (clouds.md#boot-record)?
import { codeKey, readCode } from "./code.ts";
import { base64Url, isSame, type Key, mac } from "./mac.ts";

const TOKEN = /^drvb_([a-z0-9][a-z0-9-]{0,62}\.\d{1,12})\.([A-Za-z0-9_-]{43})$/;

/**
 * The token with which the machine that has this code reports its boot: `drvb_<claim>.<HMAC, base64url>`.
 * Unlike the code, it is sent, so it must not reveal the code's key. Throws if the code is malformed.
 */
export function bootToken(code: string): string {
  const read = readCode(code);
  if (read === undefined) throw new Error("this is no enrollment code");
  return `drvb_${read.claim}.${macOf(read.claim, read.key)}`;
}

/** The claim of a genuine token. Undefined: the text is malformed, or another Drover has made it. */
export function readBootToken(text: string, signingKey: string): string | undefined {
  const [, claim, given] = TOKEN.exec(text) ?? [];
  if (claim === undefined || given === undefined || signingKey === "") return undefined;
  return isSame(given, macOf(claim, codeKey(claim, signingKey))) ? claim : undefined;
}

function macOf(claim: string, key: Key): string {
  return base64Url(mac(key, "drover-boot\n", claim));
}
