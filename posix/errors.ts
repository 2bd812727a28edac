// What does an error of the operating system mean?

/** Open files of this process or of the machine; its processes and threads; its memory. */
const STARVED = ["EMFILE", "ENFILE", "EAGAIN", "ENOMEM"];

/** The system's name for what went wrong (`ENOENT`), if it was the system that said so. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/**
 * Whether the system has refused something for lack of open files, processes or memory. That is no answer to
 * what was asked: a process that cannot be looked at may live. It passes, so it is asked again
 * (faults-below.md#no-open-files-no-processes).
 */
export function isStarved(error: unknown): boolean {
  return STARVED.includes(errorCode(error) ?? "");
}

/** Whether nothing more can be written, because the disk or what we may use of it is full. */
export function isDiskFull(error: unknown): boolean {
  return errorCode(error) === "ENOSPC" || errorCode(error) === "EDQUOT";
}
