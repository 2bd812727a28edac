// How are secrets removed from a provider's texts before they are stored or shown?

/** Replaces each secret. */
const VEILED = "[secret]";
/** Any enrollment code, even if it was made for another call. */
export const CODES = /drvc_[\w.~-]+/g;
/** Shorter pieces of a secret reveal nothing, and may occur by chance. */
const LEAST_BASE64_CHARS = 8;

/** Removes secrets from a foreign text. */
export type Veil = (text: string) => string;

/**
 * Makes a function that removes these secrets and every enrollment code from a text: plain, or escaped for
 * JSON, URLs or HTML, or within base64. A service may repeat what it was sent, and its texts are stored and
 * shown. Apply it before a text is cut.
 */
export function veilOf(secrets: readonly string[]): Veil {
  const known = [...new Set(secrets.filter((secret) => secret !== "").flatMap(formsOf))];
  // Longest first, since one secret may begin with another.
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

/** The three forms of a secret within base64, without the end characters that depend on its neighbors. */
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
