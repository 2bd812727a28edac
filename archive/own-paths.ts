// Which paths are never packed or unpacked?

/** The history of a repository, and the state of `drover up` with its token; and their DOS names. */
const OWN_NAMES: ReadonlySet<string> = new Set([".git", ".drover", "git~1", "drover~1"]);

/** No file system has longer names, and normalizing an endless one would take long. */
const MAX_NAME_CHARS = 255;

/**
 * Whether a name is `.git` or `.drover`, which are never packed and never unpacked, in any spelling that some
 * file system equates with them: those of macOS ignore invisible characters, those of Windows ignore dots and
 * blanks at the end and whatever follows a colon, and both ignore case.
 */
export function isOwnName(name: string): boolean {
  if (name.length > MAX_NAME_CHARS) return false;
  const visible = name
    .normalize("NFKC")
    .replace(/\p{Cf}/gu, "")
    .toLowerCase();
  return OWN_NAMES.has(visible.replace(/:.*$/s, "").replace(/[. ]+$/, ""));
}

/** Whether a path has such a name in it. */
export function isOwnPath(path: string): boolean {
  return path.split(/[\\/]/).some(isOwnName);
}
