/** Open files of this process or of the machine; its processes and threads; its memory. */
const STARVED = ["EMFILE", "ENFILE", "EAGAIN", "ENOMEM"];

/**
 * Whether the system has refused something for lack of open files, processes or memory. That is no answer to
 * what was asked: a process that cannot be looked at may live. It passes, so it is asked again.
 */
export function isStarved(error: unknown): boolean {
  return error instanceof Error && "code" in error && STARVED.includes(String(error.code));
}
