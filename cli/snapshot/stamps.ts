// Are the files of a directory the same as at an earlier look, as far as that is known without reading them?
import { createHash } from "node:crypto";
import { type BigIntStats, lstatSync } from "node:fs";
import { Beneath } from "../../archive/beneath.ts";
import { Turns } from "../../archive/turns.ts";
import type { Found } from "../../archive/walk.ts";

/** What a look at a directory has found. */
export interface Stamps {
  /** A digest of all paths and stamps: the same digest means the same files. */
  digest: string;
  /**
   * Whether a later change will show. False if a file is so new that a change now could leave the same time.
   */
  isSettled: boolean;
}

/** Which archive the packer makes of the same files. Another number: what was remembered is packed again. */
const FORMAT = "2";
const NS_PER_MS = 1_000_000n;
const NS_PER_S = 1_000_000_000n;
/** File systems have times by the clock of the kernel, which advances each 1 to 10 ms. */
const FINE_WINDOW_NS = 100n * NS_PER_MS;
/** A time without a fraction of a second may be from a file system that has only every other second. */
const COARSE_WINDOW_NS = 3n * NS_PER_S;

/**
 * Looks at files, and reads none of them (decisions/files.md#stamps-of-an-upload). A stamp has size, mode,
 * device, inode, and the times of change: nobody can set back that of the inode (`ctime`). Throws an
 * `ArchiveFault`, the system's error, or the reason of the signal.
 */
export async function stampsOf(root: string, files: readonly Found[], signal: AbortSignal): Promise<Stamps> {
  const now = BigInt(Date.now()) * NS_PER_MS;
  const hash = createHash("sha256").update(`${FORMAT}\0`);
  const turns = new Turns(signal);
  const top = Beneath.open(root);
  let isSettled = true;
  try {
    for (const { path, kind } of files) {
      const wait = turns.next();
      if (wait !== undefined) await wait;
      const found = top.with(path, (name) => lstatSync(name, { bigint: true }));
      hash.update(stampOf(path, kind, found));
      const { ctimeNs, mtimeNs } = found;
      isSettled &&= kind === "directory" || (isSettledAt(now, ctimeNs) && isSettledAt(now, mtimeNs));
    }
  } finally {
    top.close();
  }
  return { digest: hash.digest("hex"), isSettled };
}

/** A directory is packed with its mode, and with nothing else that could change. */
function stampOf(path: string, kind: Found["kind"], found: BigIntStats): string {
  const { mode, size, dev, ino, mtimeNs, ctimeNs } = found;
  const values = kind === "directory" ? [mode] : [mode, size, dev, ino, mtimeNs, ctimeNs];
  return `${path}\0${values.join(" ")}\0`;
}

/**
 * Whether a file changed so long ago that its next change gets another time. Both times in nanoseconds of the
 * epoch.
 */
export function isSettledAt(now: bigint, changedNs: bigint): boolean {
  const window = changedNs % NS_PER_S === 0n ? COARSE_WINDOW_NS : FINE_WINDOW_NS;
  return changedNs < now - window;
}
