// Which id has a run that is found again by a key (api.md#idempotency)?

const encoder = new TextEncoder();

/** The SHA-256 of a text, in hexadecimal. */
export async function sha256(text: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(text)));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * The id of the run that a key stands for, without its project: the same key and index always name the same
 * run (api.md#idempotency).
 */
export async function idOfKey(key: string, index: number): Promise<string> {
  return `k-${(await sha256(`${key}\0${index}`)).slice(0, 32)}`;
}
