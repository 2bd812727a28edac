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

/** How a file is named through the descriptor of its directory: `/proc/self/fd/7/name`. */
const BY_DESCRIPTOR = "/proc/self/fd/";

/**
 * The error of a call for a file that was named through a descriptor, with the file's real path in it: the
 * other name tells a reader nothing. Of a call with two names, the second one is replaced first: it is the
 * name that the call was to make. Any other error stays what it is.
 */
export function withPath(error: unknown, path: string): unknown {
  if (!isOfSystem(error)) return error;
  const named: NodeJS.ErrnoException & { dest?: string } = error;
  for (const field of ["dest", "path"] as const) {
    const name = named[field];
    if (!name?.startsWith(BY_DESCRIPTOR)) continue;
    named.message = named.message.replaceAll(name, path);
    named[field] = path;
    break;
  }
  return named;
}
