// Which entries may a downloaded archive contain? The result of a run may contain only matches of its globs.
import { type ArchiveEntry, namesOf } from "./entries.ts";
import { type GlobMatcher, readGlobs } from "./globs.ts";
import { isOwnPath } from "./own-paths.ts";

/**
 * Which entries of an archive are unpacked. `entryFault` checks that all of them stay inside the directory.
 */
export interface EntryFilter {
  /** Why the whole archive is refused because of this entry; undefined if this entry is no reason. */
  fault(entry: ArchiveEntry): string | undefined;
  /** Whether this entry is skipped while the rest is unpacked. */
  skips(entry: ArchiveEntry): boolean;
}

export const ALL_ENTRIES: EntryFilter = { fault: () => undefined, skips: () => false };

/**
 * All entries except `.git` and `.drover`, what is below these, and links to these: a program that follows
 * such a link later would write into the user's repository, or into the state of Drover.
 */
export const ALL_BUT_OWN: EntryFilter = {
  fault: () => undefined,
  skips: ({ path, linkpath = "" }) => isOwnPath(path) || isOwnPath(linkpath),
};

/**
 * The entries that the result of a run may contain: paths that match its globs, and the directories above
 * them. The archive comes from a host, which is not trusted.
 */
export function resultOf(globs: readonly string[]): EntryFilter {
  const root = readGlobs(globs);
  return {
    skips: ALL_BUT_OWN.skips,
    fault({ path, type, linkpath = "" }) {
      const paths = type === "Link" ? [path, linkpath] : [path];
      const strange = paths.find((one) => !isNamed(root, one, type));
      return strange === undefined ? undefined : `"${strange}" is not among the run's outputs`;
    },
  };
}

function isNamed(root: GlobMatcher, path: string, type: string): boolean {
  let matcher: GlobMatcher = root;
  for (const name of namesOf(path)) {
    if (matcher.fits) return true;
    const inner = matcher.into(name);
    if (inner === undefined) return false;
    matcher = inner;
  }
  return matcher.fits || type === "Directory" || type === "GNUDumpDir";
}
