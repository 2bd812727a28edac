// The error for a bad archive, which retrying cannot cure.

/** What is wrong with an archive, or with what shall become one: the same again would be wrong again. */
export class ArchiveFault extends Error {
  override readonly name = "ArchiveFault";
}

/** Whether it was the system that said so, and by this name (`ENOSPC`). */
export function isSystemError(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && "code" in error && codes.some((code) => code === error.code);
}
