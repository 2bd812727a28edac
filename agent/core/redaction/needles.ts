// Which byte strings stand for the secrets of an attempt?
import { SHORTEST_MASKED_BYTES } from "../../../src/shared/limits.ts";
import { base64Lines, encodedForms, utf8Of } from "./forms.ts";

/**
 * The least length of a needle. A shorter secret, or a shorter form of a secret, would mask unrelated words.
 */
export const SHORTEST_NEEDLE_BYTES = SHORTEST_MASKED_BYTES;
/**
 * The greatest length of a needle. It bounds how many bytes are held back, how many bytes are read around a
 * stretch, and how many bytes of a stored log stay on the disk.
 */
export const LONGEST_NEEDLE_BYTES = 4_096;

/**
 * The needles of these secrets, without duplicates, the longest first (redaction.md#needles). A form that is
 * longer than the longest needle is split into pieces that together cover the form.
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
 * All forms of a value, with one character for each byte. A command that reads a value from a file often
 * drops the line ends at the end of the value. So the encoded forms are made without these line ends.
 */
function formsOf(value: string): string[] {
  const core = value.replace(/[\r\n]+$/, "");
  const unix = core.replaceAll("\r\n", "\n");
  const lines = unix.split("\n").map((line) => line.replace(/^[\t\r ]+|[\t\r ]+$/g, ""));
  // As `printf`, `echo` and `cat` give the value to a program.
  const encodedAlone = [...new Set([core, `${core}\n`, value])].flatMap(base64Lines);
  const encoded = [...encodedForms(core, utf8Of(core)), ...encodedAlone];
  return [value, core, unix, unix.replaceAll("\n", "\r\n"), ...lines, ...encoded];
}

function piecesOf(form: string): string[] {
  if (form.length <= LONGEST_NEEDLE_BYTES) return [form];
  const count = Math.ceil(form.length / LONGEST_NEEDLE_BYTES);
  // The last piece ends where the form ends, and is as long as the others: it may overlap the piece before
  // it.
  return Array.from({ length: count }, (_, index) => {
    const end = Math.min((index + 1) * LONGEST_NEEDLE_BYTES, form.length);
    return form.slice(end - LONGEST_NEEDLE_BYTES, end);
  });
}
