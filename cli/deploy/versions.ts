// Which of two versions is the newer one?

const VERSION = /^(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?/;

/** Below 0: `one` is older than `other`; above 0: newer. What is no version is older than any. */
export function compareVersions(one: string, other: string): number {
  const [a, b] = [VERSION.exec(one), VERSION.exec(other)];
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  for (const part of [1, 2, 3]) {
    const difference = Number(a[part]) - Number(b[part]);
    if (difference !== 0) return difference;
  }
  const [before = "", after = ""] = [a[4], b[4]];
  if (before === after) return 0;
  // What is made before a release is older than the release.
  if (before === "" || after === "") return before === "" ? 1 : -1;
  return before.localeCompare(after, "en", { numeric: true });
}
