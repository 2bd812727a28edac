// Which entries may a downloaded archive bring? A result may bring only what its globs name.
import type { ArchiveEntry } from "./entries.ts";
import { type GlobPlace, readGlobs } from "./globs.ts";
import { isOwnPath } from "./own-paths.ts";

/** What an archive from elsewhere may bring, beside what keeps it inside of its directory. */
export interface Wanted {
  /** Why an entry must not be there; undefined if it may. */
  fault(entry: ArchiveEntry): string | undefined;
  /** Whether it stays in the archive while the rest is unpacked. */
  leavesOut(entry: ArchiveEntry): boolean;
}

/** Whatever there is. */
export const EVERYTHING: Wanted = { fault: () => undefined, leavesOut: () => false };

/**
 * All but what belongs to a repository, or to a Drover, of the directory that it is unpacked into. Links of
 * both kinds that lead there stay away, too: what follows them later would write there.
 */
export const ALL_BUT_OWN: Wanted = {
  fault: () => undefined,
  leavesOut: ({ path, linkpath = "" }) => isOwnPath(path) || isOwnPath(linkpath),
};

/**
 * The result of a run: what its globs name, and the directories on the way there. Its host has packed it, so
 * nothing else is believed to belong to it.
 */
export function resultOf(globs: readonly string[]): Wanted {
  const root = readGlobs(globs);
  return {
    leavesOut: ALL_BUT_OWN.leavesOut,
    fault({ path, type, linkpath = "" }) {
      const strange = [path, ...(type === "Link" ? [linkpath] : [])].find((one) => !isNamed(root, one, type));
      return strange === undefined ? undefined : `"${strange}" is nothing that the run's outputs name`;
    },
  };
}

function isNamed(root: GlobPlace, path: string, type: string): boolean {
  let place: GlobPlace = root;
  for (const name of path.split("/").filter((part) => part !== "" && part !== ".")) {
    if (place.fits) return true;
    const inner = place.into(name);
    if (inner === undefined) return false;
    place = inner;
  }
  return place.fits || type === "Directory" || type === "GNUDumpDir";
}
