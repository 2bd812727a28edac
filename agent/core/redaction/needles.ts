// Which byte strings stand for the secrets of an attempt?
import { encodedForms, utf8Of } from "./forms.ts";

/** A secret, or a form of one, that is shorter is no needle: it would mask words that mean something else. */
export const SHORTEST_NEEDLE_BYTES = 6;
/**
 * The longest needle. It bounds what is held back, what is read around a stretch, and what of a stored log
 * stays on the disk.
 */
export const LONGEST_NEEDLE_BYTES = 4_096;

/**
 * The needles of these secrets, each once, the longer ones first (redaction.md#needles). A form that is
 * longer than any needle stands as its pieces, which together cover it.
 */
export function needlesOf(secrets: readonly Uint8Array[]): Uint8Array[] {
  const needles = secrets
    .map((secret) => Buffer.from(secret).toString("latin1"))
    .filter(isLongEnough)
    .flatMap((value) => formsOf(value).filter(isLongEnough).flatMap(piecesOf));
  return [...new Set(needles)]
    .sort((a, b) => b.length - a.length)
    .map((needle) => Uint8Array.from(Buffer.from(needle, "latin1")));
}

function isLongEnough({ length }: string): boolean {
  return length >= SHORTEST_NEEDLE_BYTES;
}

/**
 * All forms of a value, with one character for each byte. The final line end of a value says nothing, and a
 * command that reads the value from a file often drops it: the encoded forms are those without it.
 */
function formsOf(value: string): string[] {
  const core = value.replace(/[\r\n]+$/, "");
  const unix = core.replaceAll("\r\n", "\n");
  const lines = unix.split("\n").map((line) => line.replace(/^[\t\r ]+|[\t\r ]+$/g, ""));
  return [value, core, unix, unix.replaceAll("\n", "\r\n"), ...lines, ...encodedForms(core, utf8Of(core))];
}

function piecesOf(form: string): string[] {
  if (form.length <= LONGEST_NEEDLE_BYTES) return [form];
  const count = Math.ceil(form.length / LONGEST_NEEDLE_BYTES);
  // The last piece ends with the form, so it may overlap the one before it, and no piece is short.
  return Array.from({ length: count }, (_, index) => {
    const end = Math.min((index + 1) * LONGEST_NEEDLE_BYTES, form.length);
    return form.slice(end - LONGEST_NEEDLE_BYTES, end);
  });
}
