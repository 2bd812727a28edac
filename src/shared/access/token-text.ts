// How is a token written, and what does its text alone reveal (access.md#token-format)?

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** The beginning of every token of the API. */
export const TOKEN_PREFIX = "drv_";
/** The beginning of the secret of a browser session (sessions.md#cookie). */
export const SESSION_PREFIX = "drvs_";
/** The beginning of a code that starts a browser session (sessions.md#codes). */
export const CODE_PREFIX = "drvc_";

type Prefix = typeof TOKEN_PREFIX | typeof SESSION_PREFIX | typeof CODE_PREFIX;
export const TOKEN_ID_CHARS = 10;
/** 32 digits of base62 have 190 bits. */
const SECRET_CHARS = 32;
/** 6 digits of base62 hold any CRC-32. */
const CHECK_CHARS = 6;

/**
 * Random bytes for `tokenText`. `tokenText` rejects some byte values. With so many bytes, enough almost
 * always remain.
 */
export const TOKEN_RANDOM_BYTES = 64;

const FORM = new RegExp(`^[0-9A-Za-z]{${TOKEN_ID_CHARS + SECRET_CHARS + CHECK_CHARS}}$`);

/**
 * What a text is, as far as the text alone reveals (access.md#token-format). `token`: a token, with its id.
 * `typo`: it has the form of a token, but a wrong checksum. `cut`: it begins like a token, but has another
 * length or other characters. `other`: anything else.
 */
export type ParsedToken = { kind: "token"; id: string } | { kind: "typo" | "cut" | "other" };

/** Reads a text as a token of one kind. A token that was copied in part, or twice, is `cut`. */
export function parseToken(text: string, prefix: Prefix = TOKEN_PREFIX): ParsedToken {
  if (!text.startsWith(prefix)) return { kind: "other" };
  if (!FORM.test(text.slice(prefix.length))) return { kind: "cut" };
  const body = text.slice(0, -CHECK_CHARS);
  if (text.slice(-CHECK_CHARS) !== checksum(body)) return { kind: "typo" };
  return { kind: "token", id: body.slice(prefix.length, prefix.length + TOKEN_ID_CHARS) };
}

/**
 * Makes a token from random bytes. `id`: the id of an existing token that gets a new secret. Throws if there
 * are too few bytes. Each byte of 248 or more is rejected, so that every digit is equally likely.
 */
export function tokenText(
  random: Uint8Array,
  id?: string,
  prefix: Prefix = TOKEN_PREFIX,
): { id: string; text: string } {
  const digits = [...random].filter((byte) => byte < 4 * DIGITS.length).map((byte) => DIGITS[byte % 62]);
  const needed = SECRET_CHARS + (id === undefined ? TOKEN_ID_CHARS : 0);
  if (digits.length < needed) throw new Error("too little randomness for a token");
  const chosen = digits.slice(0, needed).join("");
  const body = `${prefix}${id ?? ""}${chosen}`;
  return { id: id ?? chosen.slice(0, TOKEN_ID_CHARS), text: `${body}${checksum(body)}` };
}

/**
 * The id that follows from these bytes, at least 32 and as good as random: the same bytes, the same id
 * (oidc.md#exchange).
 */
export function tokenId(bytes: Uint8Array): string {
  return tokenText(Uint8Array.from([...bytes, ...bytes, ...bytes])).id;
}

/** The CRC-32 of a text, in base62 with leading zeros. */
function checksum(text: string): string {
  let rest = crc32(text);
  let digits = "";
  while (digits.length < CHECK_CHARS) {
    digits = `${DIGITS[rest % 62]}${digits}`;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/** CRC-32 (IEEE) of an ASCII text, bit by bit: tokens are short. */
function crc32(text: string): number {
  let crc = 0xffffffff;
  for (let at = 0; at < text.length; at += 1) {
    crc ^= text.charCodeAt(at);
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}
