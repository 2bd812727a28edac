// Is a state directory safe to use: the caller's own, and not from a repository?
import { lstatSync, readdirSync, type Stats } from "node:fs";
import { basename, dirname, join } from "node:path";
import { trackedIn } from "../../disk/tracked.ts";
import { UpError } from "../up-error.ts";
import { NAMES, pathIn } from "./names.ts";

/** The bits of a mode that give rights to users other than the owner. */
const OTHERS = 0o077;
const WORLD_WRITES = 0o002;
const STICKY = 0o1000;
const ROOT = 0;

/**
 * Refuses a state directory that is a link or belongs to another user, since Drover runs files in it and uses
 * its secrets. Call this before anything below it is read or written. Throws an `UpError`.
 */
export function checkStateDir(dir: string): void {
  const stats = lstatSync(dir);
  if (stats.isSymbolicLink()) throw refused(dir, "it is a link, which somebody could redirect");
  checkOwner(dir, stats);
}

/**
 * Refuses files in a state directory that did not come from a `drover up` of the caller: links, files of
 * other users, secrets that other users can read (unless `fresh` deletes them), and files that Git tracks,
 * whose content everybody with the repository knows. Throws an `UpError`.
 */
export function checkStateFiles(dir: string, fresh: boolean): void {
  for (const name of NAMES) {
    const path = pathIn(dir, name);
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) continue;
    if (stats.isSymbolicLink()) throw refused(dir, `${path} is a link`);
    if (!stats.isFile() && !stats.isDirectory()) throw refused(dir, `${path} is not a regular file`);
    checkOwner(path, stats);
    if (name === "up.json" && !fresh && (stats.mode & OTHERS) !== 0) {
      const mode = (stats.mode & 0o777).toString(8);
      const why = `${path} has mode ${mode}, so other users may know its secrets`;
      throw refused(dir, why, "Start over with --fresh, which makes new secrets.");
    }
  }
  const link = linkBelow(pathIn(dir, "objects"));
  if (link !== undefined) throw refused(dir, `${link} is a link`);
  checkUntracked(dir);
}

/**
 * Refuses a state directory on a file system without modes, such as FAT or a Windows drive under WSL: others
 * can read `path` although it was written for its owner alone. Throws an `UpError`.
 */
export function checkModesStay(dir: string, path: string): void {
  if ((lstatSync(path).mode & OTHERS) === 0) return;
  const why = `its file system has no modes, so other users could read the secrets in ${path}`;
  throw refused(dir, why);
}

/**
 * Who, apart from the caller and root, can replace this directory with another directory; undefined: nobody.
 * Such a directory is not refused: volumes of containers often belong to another user, or are open to
 * everybody.
 */
export function strangerAbove(dir: string): string | undefined {
  const me = process.geteuid?.();
  for (let above = dirname(dir); me !== undefined; above = dirname(above)) {
    const { uid, mode } = lstatSync(above);
    if (uid !== me && uid !== ROOT) return `user ${uid}, who owns ${above},`;
    if ((mode & WORLD_WRITES) !== 0 && (mode & STICKY) === 0) return `anybody who may write to ${above}`;
    if (above === dirname(above)) return undefined;
  }
  return undefined;
}

function checkOwner(path: string, { uid }: Stats): void {
  const me = process.geteuid?.();
  if (me === undefined || uid === me) return;
  throw refused(path, `it belongs to user ${uid}, and you are user ${me}`);
}

/** A link in a folder that only the runtime should write to; undefined if there is none. */
function linkBelow(dir: string): string | undefined {
  if (lstatSync(dir, { throwIfNoEntry: false }) === undefined) return undefined;
  const isLink = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  const paths = readdirSync(dir, { recursive: true, encoding: "utf8" }).map((name) => join(dir, name));
  return paths.find(isLink);
}

function checkUntracked(dir: string): void {
  const tracked = trackedIn(dir);
  if (tracked === undefined) return;
  if ("unclear" in tracked) throw refused(dir, tracked.unclear);
  const why = `Git tracks ${join(dir, tracked.file)}, so everybody with the repository knows its content`;
  throw refused(dir, why, `Take it out of the repository: \`git rm -r -f ${basename(dir)}\`.`);
}

function refused(dir: string, why: string, help = ""): UpError {
  const choose = help === "" ? "Choose" : `${help} Or choose`;
  return new UpError(
    `The state directory ${dir} is refused: ${why}. ${choose} another directory with --state.`,
  );
}
