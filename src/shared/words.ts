/** `what: reason`, or what alone where nobody has given a reason. */
export function because(what: string, reason: string): string {
  return reason.trim() === "" ? what : `${what}: ${reason}`;
}

/** Text from elsewhere as a part of a sentence: without the full stop at its end. */
export function clause(text: string): string {
  return text.trimEnd().replace(/(?<!\.)\.$/, "");
}

/** The text of anything that was thrown. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
