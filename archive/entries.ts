// Is an entry of an archive safe: does it stay below its directory?

/** One entry of an archive, as far as it says where things go. */
export interface ArchiveEntry {
  path: string;
  type: string;
  linkpath?: string | undefined;
}

/** Deeper ones the library does not unpack. */
const MAX_LEVELS = 1_024;
/** Longer ones no system takes (`PATH_MAX`, `NAME_MAX`). */
const MAX_PATH_CHARS = 4_096;
const MAX_NAME_CHARS = 255;

const PLAIN = new Set(["File", "OldFile", "ContiguousFile", "Directory", "GNUDumpDir"]);

/**
 * Why an entry must not be unpacked; undefined if it stays inside of the directory that it is unpacked into,
 * wherever that is, and whatever else the archive has. Whoever unpacks must not write through links.
 *
 * A symbolic link may go up only at its beginning. So it never climbs from where another link leads: `a/up`
 * to `..` and then `a/up/..` would be two steps inside by their letters, and one outside in truth.
 */
export function entryFault({ path, type, linkpath = "" }: ArchiveEntry): string | undefined {
  const long = [path, linkpath].find(isTooLong);
  if (long !== undefined) return `"${long.slice(0, MAX_NAME_CHARS)}…" is longer than any disk takes`;
  const odd = oddity(path) ?? oddity(linkpath);
  if (odd !== undefined) return `"${path}" ${odd}`;
  if (climbsOut(path)) return `"${path}" leads out of the directory that it is unpacked into`;
  if (PLAIN.has(type)) return undefined;
  if (type === "SymbolicLink") {
    const target = `${parentOf(path)}/${linkpath}`;
    const inside = !linkpath.startsWith("/") && !climbsOut(target) && !climbsLate(linkpath);
    return inside ? undefined : `"${path}" is a link to "${linkpath}", which may lead out of its directory`;
  }
  if (type === "Link") {
    return climbsOut(linkpath) || linkpath === ""
      ? `"${path}" is a link to "${linkpath}", out of its directory`
      : undefined;
  }
  return `"${path}" is neither a file, a directory nor a link (${type})`;
}

/** What keeps a path from being unpacked: also on Linux the library takes these as Windows does. */
function oddity(path: string): string | undefined {
  if (/^(?:[a-z]:|\\)/i.test(path)) return `begins, or leads to what begins, as a path of Windows: "${path}"`;
  if (path.includes("\\") && path.split(/[\\/]/).includes("..")) return `goes up by a backslash: "${path}"`;
  if (path.split("/").length > MAX_LEVELS) return `is below more than ${MAX_LEVELS} directories`;
  return undefined;
}

function isTooLong(path: string): boolean {
  return path.length > MAX_PATH_CHARS || path.split("/").some((name) => name.length > MAX_NAME_CHARS);
}

/** Whether a path is absolute, or goes up further than it has gone down. */
function climbsOut(path: string): boolean {
  if (path.startsWith("/")) return true;
  let depth = 0;
  for (const part of partsOf(path)) {
    depth += part === ".." ? -1 : 1;
    if (depth < 0) return true;
  }
  return false;
}

function climbsLate(path: string): boolean {
  const parts = partsOf(path);
  const down = parts.findIndex((part) => part !== "..");
  return down >= 0 && parts.indexOf("..", down) >= 0;
}

function parentOf(path: string): string {
  const parts = partsOf(path).slice(0, -1);
  return parts.length === 0 ? "." : parts.join("/");
}

function partsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}
