import { randomBytes } from "node:crypto";
import { renameSync, rmSync, writeFileSync } from "node:fs";

/** How the name of a file ends that a crash may leave beside the one that was being written. */
export const DRAFT_ENDING = ".tmp";

/**
 * Writes a file of our own (mode 0600) so that a reader, or a crash, sees the old text or the new, never a
 * part. Flushed unless it is said that a loss of power may take it: a rename that outlives that must not lead
 * to an empty file.
 */
export function writeWhole(path: string, text: string, { flush = true } = {}): void {
  const draft = `${path}.${randomBytes(4).toString("hex")}${DRAFT_ENDING}`;
  try {
    writeFileSync(draft, text, { mode: 0o600, flush });
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

/** The text of anything that was thrown. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
