// Which paths are never packed or unpacked: `.git` and `.drover`.

/** The history of a repository, and what `drover up` keeps: its token among it. */
const OWN_NAMES: ReadonlySet<string> = new Set([".git", ".drover", "git~1", "drover~1"]);

/** No file system has longer names, and what is done below takes long for one without end. */
const MAX_NAME_CHARS = 255;

/**
 * Whether a name is that of a directory that is never sent and never unpacked: `.git` and `.drover`, in all
 * spellings that some file system takes for them. Those of Macs skip what cannot be seen, those of Windows
 * the dots and blanks at the end, and what stands behind a colon; both take no notice of case.
 */
export function isOwnName(name: string): boolean {
  if (name.length > MAX_NAME_CHARS) return false;
  const seen = name
    .normalize("NFKC")
    .replace(/\p{Cf}/gu, "")
    .toLowerCase();
  return OWN_NAMES.has(seen.replace(/:.*$/s, "").replace(/[. ]+$/, ""));
}

/** Whether a path leads to, or through, such a directory. */
export function isOwnPath(path: string): boolean {
  return path.split(/[\\/]/).some(isOwnName);
}
