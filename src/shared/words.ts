// How are parts of messages put together?
/** `what: reason`, or only `what` if the reason is empty. */
export function because(what: string, reason: string): string {
  return reason.trim() === "" ? what : `${what}: ${reason}`;
}

/** A foreign text without its final period, to be used within a sentence. */
export function clause(text: string): string {
  return text.trimEnd().replace(/(?<!\.)\.$/, "");
}

/** The message of any thrown value. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
