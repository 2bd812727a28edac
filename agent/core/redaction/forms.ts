// How do the usual encoders write a secret? Values and forms have one character for each byte.

/** The characters that shells name by a letter in `$'…'`. */
const NAMED_IN_SHELL: Record<string, string> = {
  "\x07": "\\a",
  "\b": "\\b",
  "\t": "\\t",
  "\n": "\\n",
  "\v": "\\v",
  "\f": "\\f",
  "\r": "\\r",
  "\x1b": "\\E",
  "'": "\\'",
  "\\": "\\\\",
};

/** Beside letters and digits, what percent encoders leave as it is: they do not agree. */
const UNESCAPED = ["-_.!~*'()", "-_.~", "-_.~/", "-_.*"];

/**
 * The forms in which encoders write a value (redaction.md#needles). `text`: the value as text; undefined: it
 * is not UTF-8, so it has no form in JSON.
 */
export function encodedForms(value: string, text: string | undefined): string[] {
  return [
    ...(text === undefined ? [] : jsonForms(text)),
    ...shellForms(value),
    ...percentForms(value),
    ...base64Forms(value),
    ...hexForms(value),
  ];
}

/** The text that these bytes are in UTF-8; undefined if they are not. */
export function utf8Of(value: string): string | undefined {
  const text = bytesOf(value).toString("utf8");
  return Buffer.from(text, "utf8").toString("latin1") === value ? text : undefined;
}

/**
 * Inside the quotes of a JSON string: as short as possible; in ASCII only; the same with `\/`; and safe in
 * HTML.
 */
function jsonForms(text: string): string[] {
  const plain = JSON.stringify(text).slice(1, -1);
  const ascii = plain.replace(/[\u0080-\uffff]/g, unicodeEscape);
  const html = plain.replace(/[<>&\u2028\u2029]/g, unicodeEscape);
  const forms = [plain, ascii, ascii.replaceAll("/", "\\/"), html];
  return forms.map((form) => Buffer.from(form, "utf8").toString("latin1"));
}

function unicodeEscape(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Inside the quotes of a shell: `'\''` of bash, `'"'"'` of dash, and `$'…'` with and without raw bytes. */
function shellForms(value: string): string[] {
  const named = value.replace(/[^ -~\x80-\xff]|['\\]/g, (char) => NAMED_IN_SHELL[char] ?? octalEscape(char));
  return [
    value.replaceAll("'", "'\\''"),
    value.replace(/'+/g, `'"$&"'`),
    named,
    named.replace(/[\x80-\xff]/g, octalEscape),
  ];
}

function octalEscape(char: string): string {
  return `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`;
}

/** In URLs with either case of hex digits, and in forms, where a space is a plus. */
function percentForms(value: string): string[] {
  return UNESCAPED.flatMap((unescaped) => {
    const escaped = value.replace(/[^A-Za-z0-9]/g, (char) =>
      unescaped.includes(char) ? char : `%${hexOf(char).toUpperCase()}`,
    );
    const lower = escaped.replace(/%../g, (digits) => digits.toLowerCase());
    return [escaped, lower].flatMap((form) => [form, form.replaceAll("%20", "+")]);
  });
}

/**
 * Base64 and base64url, after 0, 1 and 2 other bytes, and before any: only the characters whose six bits all
 * belong to the value.
 */
function base64Forms(value: string): string[] {
  return [0, 1, 2].flatMap((before) => {
    const whole = bytesOf("\0".repeat(before) + value).toString("base64");
    const first = Math.ceil((before * 8) / 6);
    const form = whole.slice(first, Math.floor(((before + value.length) * 8) / 6));
    return [form, form.replaceAll("+", "-").replaceAll("/", "_")];
  });
}

function hexForms(value: string): string[] {
  return [hexOf(value), hexOf(value).toUpperCase()];
}

function hexOf(value: string): string {
  return bytesOf(value).toString("hex");
}

function bytesOf(value: string) {
  return Buffer.from(value, "latin1");
}
