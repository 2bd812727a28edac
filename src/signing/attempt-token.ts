// With which token does a command prove which attempt it is (oidc.md#request-tokens)?
import { base64Url, isSame, type Key, mac } from "./mac.ts";

/** The beginning of every request token. */
export const REQUEST_TOKEN_PREFIX = "drvr_";
const NAME = "[a-z0-9][a-z0-9-]{0,62}";
const ATTEMPT = String.raw`(?:[a-z0-9][a-z0-9-]{0,27}\.)?${NAME}/[a-z0-9-]{1,63}/\d{1,9}\.\d{1,9}`;
const TOKEN = new RegExp(String.raw`^drvr_(${NAME})~(${ATTEMPT})~([\w-]{43})$`);

/** What a request token claims. Nothing is verified. */
export interface AttemptClaim {
  worker: string;
  /** The id of the attempt. */
  attempt: string;
  /** HMAC-SHA256 of worker and attempt with the secret of the host, in base64url. */
  proof: string;
}

/**
 * The request token of an attempt: `drvr_<worker>~<attempt>~<HMAC>`. The host and its worker both know the
 * host's secret, so both can make the token, and nobody stores it.
 */
export function requestToken(secret: Key, worker: string, attempt: string): string {
  return `${REQUEST_TOKEN_PREFIX}${worker}~${attempt}~${proofOf(secret, worker, attempt)}`;
}

/** Reads a request token; undefined if it has another form. */
export function readRequestToken(text: string): AttemptClaim | undefined {
  const [, worker, attempt, proof] = TOKEN.exec(text) ?? [];
  if (worker === undefined || attempt === undefined || proof === undefined) return undefined;
  return { worker, attempt, proof };
}

/** Whether a request token was made with this secret of a host. */
export function isProven(secret: Key, { worker, attempt, proof }: AttemptClaim): boolean {
  return isSame(proofOf(secret, worker, attempt), proof);
}

function proofOf(secret: Key, worker: string, attempt: string): string {
  return base64Url(mac(secret, "drover-attempt\n", worker, "\n", attempt));
}
