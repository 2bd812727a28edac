// Which paths are never packed or unpacked?

/** The history of a repository, the state of `drover up` with its token, and the DOS names of both. */
const OWN_NAMES: ReadonlySet<string> = new Set([".git", ".drover", "git~1", "drover~1"]);

/** No file system has longer names, and normalizing an endless name would take long. */
const MAX_NAME_CHARS = 255;

/** A name that all file systems take as it is. The names above have a `~`, or begin with a dot. */
const PLAIN = /^[\w-][\w.-]*$/;

/**
 * Whether a name is `.git` or `.drover`, which are never packed or unpacked, in any spelling that a file
 * system treats as equal. File systems of macOS ignore invisible characters; those of Windows ignore dots and
 * blanks at the end, and everything from a colon on; both ignore case.
 */
export function isOwnName(name: string): boolean {
  if (name.length > MAX_NAME_CHARS || PLAIN.test(name)) return false;
  const visible = name
    .normalize("NFKC")
    .replace(/\p{Cf}/gu, "")
    .toLowerCase();
  return OWN_NAMES.has(visible.replace(/:.*$/s, "").replace(/[. ]+$/, ""));
}

/** Whether a path contains such a name. */
export function isOwnPath(path: string): boolean {
  return path.split(/[\\/]/).some(isOwnName);
}
