// Is a token of an issuer genuine and valid now, and if not, what is wrong with it (oidc.md#verification)?
import {
  createLocalJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  jwtVerify,
} from "jose";
import { DroverError } from "../../shared/errors.ts";
import type { Instant } from "../../shared/machine.ts";

/** The algorithms that are accepted. All have a public key: no issuer shares a secret with Drover. */
export const ALGORITHMS = ["RS256", "PS256", "ES256", "ES384", "EdDSA", "Ed25519"] as const;

/** How far the clocks of an issuer and of Drover may differ. */
export const CLOCK_TOLERANCE_MS = 60_000;
/** How far in the future a token may end: as long as that, its exchange is remembered. */
export const MAX_JWT_LIFE_MS = 24 * 3_600_000;

const MAX_SHOWN_CHARS = 64;

/** What a token claims before anything is verified. */
export interface UnverifiedJwt {
  issuer: string;
  alg: string;
}

/** The claims of a genuine token that is valid now. Its only audience is not compared yet. */
export interface VerifiedJwt {
  claims: JWTPayload;
  audience: string;
  endsAt: Instant;
}

/** Reads a token without trust. Throws `unauthorized` if it can be refused without keys. */
export function readJwt(token: string): UnverifiedJwt {
  try {
    const { alg = "" } = decodeProtectedHeader(token);
    const { iss } = decodeJwt(token);
    if (!ALGORITHMS.some((one) => one === alg)) throw badAlgorithm(alg);
    if (typeof iss !== "string" || iss === "") throw refused("has no issuer (`iss`)");
    return { issuer: iss, alg };
  } catch (error) {
    if (error instanceof DroverError) throw error;
    throw refused("is not a JWT: it must be three parts of base64url with dots between them");
  }
}

/**
 * Verifies a token with the keys of its issuer (oidc.md#verification). "unknown key": the token names a key
 * that is not among them. Throws `unauthorized`, with what is wrong.
 */
export async function verifyJwt(
  token: string,
  issuer: string,
  keys: JSONWebKeySet,
  now: Instant,
): Promise<VerifiedJwt | "unknown key"> {
  try {
    const { payload } = await jwtVerify(token, createLocalJWKSet(keys), {
      algorithms: [...ALGORITHMS],
      issuer,
      clockTolerance: CLOCK_TOLERANCE_MS / 1_000,
      currentDate: new Date(now),
      requiredClaims: ["aud", "exp", "iat"],
    });
    return inTime(payload, now);
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return "unknown key";
    if (error instanceof DroverError) throw error;
    throw refused(whatIsWrong(error));
  }
}

/** The claims of a token whose times are believable. Throws `unauthorized` for others. */
function inTime(claims: JWTPayload, now: Instant): VerifiedJwt {
  const { iat = 0, exp = 0, aud = [] } = claims;
  if (iat * 1_000 > now + CLOCK_TOLERANCE_MS) {
    throw refused("is from the future (`iat`): the clock of its issuer, or of this Drover, is wrong");
  }
  if (exp * 1_000 > now + MAX_JWT_LIFE_MS) {
    throw refused("is valid for more than 24 h: ask its issuer for one that ends sooner");
  }
  return { claims, audience: onlyAudience(aud), endsAt: exp * 1_000 };
}

/**
 * The one for whom a token is. A token for several is refused: each of them could send it here. Throws
 * `unauthorized`.
 */
function onlyAudience(aud: unknown): string {
  const [audience, ...others] = Array.isArray(aud) ? aud : [aud];
  if (audience === undefined) throw refused("has no `aud`");
  if (others.length > 0) {
    throw refused(
      "is for several audiences (`aud`), each of which could use it here; ask its issuer for one",
    );
  }
  if (typeof audience !== "string") throw refused("has an `aud` that is no text");
  return audience;
}

/** The error for a token that is not accepted. It never contains the token. */
export function refused(what: string): DroverError {
  return new DroverError("unauthorized", `the token ${what}`);
}

function badAlgorithm(alg: string): DroverError {
  const accepted = ALGORITHMS.join(", ");
  if (alg.toLowerCase() === "none") return refused(`is not signed; it must be signed with ${accepted}`);
  if (alg.startsWith("HS")) {
    return refused(`is signed with a shared secret (${shown(alg)}); it must be signed with ${accepted}`);
  }
  return refused(`is signed with ${shown(alg)}; accepted are ${accepted}`);
}

/** What is wrong, from the error of the library. Its texts are not passed on: they may quote the token. */
function whatIsWrong(error: unknown): string {
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    return "is not genuine: its signature does not fit the key of its issuer";
  }
  if (error instanceof errors.JWTExpired) return "has expired (`exp`); ask its issuer for another";
  if (error instanceof errors.JWTClaimValidationFailed) {
    const { claim, reason } = error;
    if (claim === "nbf" && reason === "check_failed") return "is not valid yet (`nbf`)";
    if (reason === "missing") return `has no \`${shown(claim)}\``;
    return `has a \`${shown(claim)}\` of the wrong kind`;
  }
  if (error instanceof errors.JWKSMultipleMatchingKeys) {
    return "does not say which key signed it (`kid`), and its issuer has several";
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return "is signed with an algorithm that is not accepted";
  return "is damaged, or has a form that is not accepted";
}

/** A short text from outside, as an error may show it. */
export function shown(text: string): string {
  return text.replace(/[^\w.:/@ -]/g, "_").slice(0, MAX_SHOWN_CHARS) || "nothing";
}
