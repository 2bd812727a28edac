// How do secrets get to wrangler without a copy that stays behind (deploy.md#secrets)?
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { makeFolderFor } from "./record.ts";
import { withCleanup } from "./signals.ts";

const PRIVATE_FILE = 0o600;

/**
 * Writes these secrets into a private file beside the record, and removes it at the end, also if a signal
 * ends this process. After a SIGKILL the next deployment removes it (`removeLeftSecrets`).
 */
export async function withSecretsFile<Result>(
  record: string,
  secrets: Record<string, string>,
  act: (path: string) => Promise<Result>,
): Promise<Result> {
  const path = `${stemOf(record)}${process.pid}`;
  const remove = () => rmSync(path, { force: true });
  return await withCleanup(remove, async () => {
    makeFolderFor(path);
    writeFileSync(path, JSON.stringify(secrets), { mode: PRIVATE_FILE });
    return await act(path);
  });
}

/** Removes what commands that were killed have left. A command that still runs keeps its file. */
export function removeLeftSecrets(record: string): void {
  const [folder, stem] = [dirname(record), basename(stemOf(record))];
  for (const name of namesIn(folder)) {
    const pid = Number(name.slice(stem.length));
    if (name.startsWith(stem) && !isAlive(pid)) rmSync(join(folder, name), { force: true });
  }
}

function stemOf(record: string): string {
  return `${record}.sending-`;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // there is no deployment yet, or the record will say what is wrong with its folder
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false; // there is none, or it is somebody else's, and so not one that has written here
  }
}
