// Which errors of an archive cannot be cured by a retry?

/** A fault in an archive, or in files that are to be packed. A retry would fail again. */
export class ArchiveFault extends Error {
  override readonly name = "ArchiveFault";
}

/** Whether an error is the system's. */
export function isOfSystem(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error;
}

/** Whether an error is the system's, with one of these codes (`ENOSPC`). */
export function isSystemError(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && "code" in error && codes.some((code) => code === error.code);
}

/**
 * The error of a call for a file that was named through a descriptor, with the file's real path in it: the
 * other name tells a reader nothing. Any other error stays what it is.
 */
export function withPath(error: unknown, path: string): unknown {
  if (!isOfSystem(error) || error.path === undefined) return error;
  error.message = error.message.replaceAll(error.path, path);
  error.path = path;
  return error;
}
