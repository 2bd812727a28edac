// How do common encoders write a secret? Values and forms are strings with one character for each byte.

/** The characters that shells write as a backslash and one character in `$'…'`. */
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

/** How an encoder writes each byte. */
type Spelling = readonly Uint8Array[];
/** The longest spelling of a byte: the octal escape of a shell. */
const LONGEST_SPELLING = 4;
const NOTHING = new Uint8Array(0);

/** `$'…'` with raw bytes above 127, and without. */
const IN_SHELL = spelling((char) => (/[ -&(-[\]-~\x80-\xff]/.test(char) ? char : inShell(char)));
const IN_SHELL_ASCII = spelling((char) => (/[ -&(-[\]-~]/.test(char) ? char : inShell(char)));

/**
 * The characters, besides letters and digits, that percent encoders do not escape. Encoders differ in them.
 */
const UNESCAPED = ["-_.!~*'()", "-_.~", "-_.~/", "-_.*"];
/** Percent encoders: hex digits in either case, and a space as `%20` or, as in HTML forms, as a plus. */
const PERCENT = UNESCAPED.flatMap((unescaped) =>
  ["%20", "+"].flatMap((space) => [
    spelling((char) => (char === " " ? space : inPercent(char, unescaped, hexOf(char)))),
    spelling((char) => (char === " " ? space : inPercent(char, unescaped, hexOf(char).toUpperCase()))),
  ]),
);

/** After how many characters `openssl base64` and `base64` begin a new line, if nobody says otherwise. */
const LINE_CHARS = [64, 76];

/**
 * The forms in which encoders write a value (redaction.md#needles). `text`: the value as text; undefined if
 * the value is not UTF-8, so that it has no form in JSON.
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

/** The text that these bytes encode in UTF-8; undefined if they are not UTF-8. */
export function utf8Of(value: string): string | undefined {
  const text = bytesOf(value).toString("utf8");
  return Buffer.from(text, "utf8").toString("latin1") === value ? text : undefined;
}

/**
 * The forms inside the quotes of a JSON string: the shortest form; the form in ASCII only; the ASCII form
 * with `\/` for `/`; and the form that is safe in HTML; each with hex digits in either case.
 */
function jsonForms(text: string): string[] {
  const plain = JSON.stringify(text).slice(1, -1);
  const ascii = plain.replace(/[\u0080-\uffff]/g, unicodeEscape);
  const html = plain.replace(/[<>&\u2028\u2029]/g, unicodeEscape);
  const forms = [plain, ascii, ascii.replaceAll("/", "\\/"), html];
  const both = [...new Set(forms)].flatMap((form) => [form, withUpperDigits(form)]);
  return both.map((form) => Buffer.from(form, "utf8").toString("latin1"));
}

/** The form with upper-case digits in its `\u` escapes. `\\` is an escape of its own, whatever follows. */
function withUpperDigits(form: string): string {
  return form.replace(/\\(?:u(.{4})|.)/g, (whole, digits?: string) =>
    digits === undefined ? whole : `\\u${digits.toUpperCase()}`,
  );
}

function unicodeEscape(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** The forms in the quotes of a shell: `'\''` of bash, `'"'"'` of dash, `$'…'` with and without raw bytes. */
function shellForms(value: string): string[] {
  return [
    value.replaceAll("'", "'\\''"),
    value.replace(/'+/g, `'"$&"'`),
    spelt(value, IN_SHELL),
    spelt(value, IN_SHELL_ASCII),
  ];
}

/** An escape in `$'…'`. */
function inShell(char: string): string {
  return NAMED_IN_SHELL[char] ?? `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`;
}

function percentForms(value: string): string[] {
  return PERCENT.map((one) => spelt(value, one));
}

function inPercent(char: string, unescaped: string, digits: string): string {
  return /[A-Za-z0-9]/.test(char) || unescaped.includes(char) ? char : `%${digits}`;
}

function spelling(of: (char: string) => string): Spelling {
  return Array.from({ length: 256 }, (_, byte) => bytesOf(of(String.fromCharCode(byte))));
}

/** A value as an encoder writes it. A value may be long, so this makes no string or array for each byte. */
function spelt(value: string, by: Spelling): string {
  const bytes = bytesOf(value);
  const written = new Uint8Array(bytes.length * LONGEST_SPELLING);
  let to = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const chars = by[bytes[at] ?? 0] ?? NOTHING;
    for (let n = 0; n < chars.length; n += 1, to += 1) written[to] = chars[n] ?? 0;
  }
  return Buffer.from(written.buffer, 0, to).toString("latin1");
}

/**
 * The forms in base64 and base64url after 0, 1 and 2 other bytes. A form has only the characters whose six
 * bits all belong to the value, so it does not depend on the bytes around the value.
 */
function base64Forms(value: string): string[] {
  return [0, 1, 2].flatMap((before) => {
    const whole = bytesOf("\0".repeat(before) + value).toString("base64");
    const first = Math.ceil((before * 8) / 6);
    const form = whole.slice(first, Math.floor(((before + value.length) * 8) / 6));
    return [form, form.replaceAll("+", "-").replaceAll("/", "_")];
  });
}

/**
 * The lines in which `openssl base64` and `base64` print a value that is encoded alone, if there are several.
 * Such a line does not depend on the bytes around the value, so a line that ends with padding is a form, too.
 */
export function base64Lines(value: string): string[] {
  const whole = bytesOf(value).toString("base64");
  return LINE_CHARS.filter((width) => whole.length > width).flatMap((width) =>
    Array.from({ length: Math.ceil(whole.length / width) }, (_, n) =>
      whole.slice(n * width, (n + 1) * width),
    ),
  );
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
