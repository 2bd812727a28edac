// Is an entry of an archive safe: does it stay below its directory?

/** Where one entry of an archive goes, and what it is. */
export interface ArchiveEntry {
  path: string;
  type: string;
  linkpath?: string | undefined;
}

/** The library that unpacks archives refuses deeper paths. */
const MAX_LEVELS = 1_024;
/** No system takes longer paths (`PATH_MAX`) or names (`NAME_MAX`). */
const MAX_PATH_CHARS = 4_096;
const MAX_NAME_CHARS = 255;

/** A path that is safe at a glance, as nearly all are: no name in it begins with a dot, or is odd. */
const ORDINARY = /^[\w@+-][\w@+.-]*(?:\/[\w@+-][\w@+.-]*)*\/?$/;

const PLAIN = new Set(["File", "OldFile", "ContiguousFile", "Directory", "GNUDumpDir"]);

/**
 * Why an entry must not be unpacked; undefined if it stays inside the directory that it is unpacked into,
 * whatever else the archive contains. The caller must not write through links when it unpacks.
 *
 * A symbolic link may use `..` only at its beginning: with `a/up` → `..`, the path `a/up/..` looks as if it
 * stayed inside, but leads out.
 */
export function entryFault({ path, type, linkpath = "" }: ArchiveEntry): string | undefined {
  if (linkpath === "" && PLAIN.has(type) && path.length <= MAX_NAME_CHARS && ORDINARY.test(path))
    return undefined;
  const long = [path, linkpath].find(isTooLong);
  if (long !== undefined) return `"${long.slice(0, MAX_NAME_CHARS)}…" is longer than any file system allows`;
  const fault = pathFault(path) ?? pathFault(linkpath);
  if (fault !== undefined) return `"${path}" ${fault}`;
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

/** Why a path cannot be unpacked: even on Linux, the library treats Windows paths as Windows does. */
function pathFault(path: string): string | undefined {
  if (/^(?:[a-z]:|\\)/i.test(path)) return `is, or links to, a Windows path: "${path}"`;
  if (path.includes("\\") && path.split(/[\\/]/).includes("..")) return `goes up with a backslash: "${path}"`;
  if (path.split("/").length > MAX_LEVELS) return `is below more than ${MAX_LEVELS} directories`;
  return undefined;
}

function isTooLong(path: string): boolean {
  return path.length > MAX_PATH_CHARS || path.split("/").some((name) => name.length > MAX_NAME_CHARS);
}

/** Whether a path is absolute, or leads above the directory where it begins. */
function climbsOut(path: string): boolean {
  if (path.startsWith("/")) return true;
  let depth = 0;
  for (const part of namesOf(path)) {
    depth += part === ".." ? -1 : 1;
    if (depth < 0) return true;
  }
  return false;
}

/** Whether a path goes up after it has gone down. */
function climbsLate(path: string): boolean {
  const parts = namesOf(path);
  const down = parts.findIndex((part) => part !== "..");
  return down >= 0 && parts.indexOf("..", down) >= 0;
}

/** Whether an entry is a directory, also in the old GNU format for dumps. */
export function isDirectory({ type }: Pick<ArchiveEntry, "type">): boolean {
  return type === "Directory" || type === "GNUDumpDir";
}

/** Where the target of a symbolic link is, if no part of the path to it is another link. */
export function wayOf(path: string, target: string): string {
  const way = namesOf(path).slice(0, -1);
  for (const name of namesOf(target)) {
    if (name === "..") way.pop();
    else way.push(name);
  }
  return way.join("/");
}

function parentOf(path: string): string {
  const parts = namesOf(path).slice(0, -1);
  return parts.length === 0 ? "." : parts.join("/");
}

/** The names in a path of an archive, except empty ones and `.`. */
export function namesOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}
