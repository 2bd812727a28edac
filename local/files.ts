import { randomBytes } from "node:crypto";
import { renameSync, rmSync, writeFileSync } from "node:fs";

/**
 * Writes a file of our own (mode 0600) so that a reader, or a crash, sees the old text or the new, never a
 * part.
 */
export function writeWhole(path: string, text: string): void {
  const draft = `${path}.${randomBytes(4).toString("hex")}.tmp`;
  try {
    writeFileSync(draft, text, { mode: 0o600 });
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/** The code of a system error such as `ENOENT`; undefined if it is none. */
export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
