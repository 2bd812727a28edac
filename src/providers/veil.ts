/** What stands where a secret stood. */
const VEILED = "[secret]";
/** Any enrollment code, whatever call it was sent with. */
export const CODES = /drvc_[\w.~-]+/g;
/** Less of a secret than this says nothing, and may be in any text. */
const LEAST_BASE64_CHARS = 8;

/** Takes what is secret out of a text of somebody else's. */
export type Veil = (text: string) => string;

/**
 * Makes what takes these secrets, and every enrollment code, out of a text: as they are, as they stand in
 * JSON, in a URL, in HTML, and within what is written by base64. For words alone, and before they are cut: a
 * service may repeat what it was sent, and its words are kept and shown.
 */
export function veilOf(secrets: readonly string[]): Veil {
  const known = [...new Set(secrets.filter((secret) => secret !== "").flatMap(formsOf))];
  // A longer one may begin with a shorter one.
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

/** What base64 makes of it behind anything: three forms, without the ends that depend on their neighbors. */
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
