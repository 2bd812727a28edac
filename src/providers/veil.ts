// How are secrets removed from a provider's texts before they are stored or shown?

/** Replaces each secret. */
const VEILED = "[secret]";
/** Any enrollment code, and any token of a boot, even if it was made for another call. */
export const CODES = /drv[bc]_[\w.~-]+/g;
/** Shorter base64 forms of a secret are not removed: they reveal nothing, and may occur by chance. */
const LEAST_BASE64_CHARS = 8;

/** Removes secrets from a foreign text. */
export type Veil = (text: string) => string;

/**
 * Makes a function that removes these secrets from a text, whether they are plain, escaped for JSON, URLs or
 * HTML, or within base64. It also removes every enrollment code and every token of a boot. It is needed
 * because a service may repeat what it was sent, and its texts are stored and shown. Apply the function
 * before a text is cut.
 */
export function veilOf(secrets: readonly string[]): Veil {
  const known = [...new Set(secrets.filter((secret) => secret !== "").flatMap(formsOf))];
  // The longest form comes first, since one secret may begin with another secret.
  known.sort((a, b) => b.length - a.length);
  return (text) =>
    known.reduce((left, form) => left.replaceAll(form, VEILED), text).replaceAll(CODES, VEILED);
}

function formsOf(secret: string): string[] {
  const html = secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const quoted = html.replaceAll('"', "&quot;");
  const plain = [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), html, quoted];
  return [...plain, ...base64Of(secret)];
}

/** The three forms of a secret within base64, without the characters that depend on neighboring bytes. */
function base64Of(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret);
  const forms = [0, 1, 2].map((before) => {
    const text = btoa("\0".repeat(before) + String.fromCharCode(...bytes));
    return text.slice(before === 0 ? 0 : 4, 4 * Math.floor((before + bytes.length) / 3));
  });
  return forms
    .filter((form) => form.length >= LEAST_BASE64_CHARS)
    .flatMap((form) => [form, form.replaceAll("+", "-").replaceAll("/", "_")]);
}
