// What does an error of the operating system mean?

/** Too many open files in this process or on the machine, too many processes, too little memory. */
const STARVED = ["EMFILE", "ENFILE", "EAGAIN", "ENOMEM"];

/** The code of a system error (`ENOENT`); undefined for any other error. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/**
 * Whether the system has run out of open files, processes or memory for a call. Such an error proves nothing
 * (a process that cannot be read may live), and a later retry may succeed
 * (faults-below.md#no-open-files-no-processes).
 */
export function isStarved(error: unknown): boolean {
  return STARVED.includes(errorCode(error) ?? "");
}

/** Whether the disk, or this user's quota of it, is full. */
export function isDiskFull(error: unknown): boolean {
  return errorCode(error) === "ENOSPC" || errorCode(error) === "EDQUOT";
}
