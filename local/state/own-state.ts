import { lstatSync, readdirSync, type Stats } from "node:fs";
import { basename, dirname, join } from "node:path";
import { trackedIn } from "../../disk/tracked.ts";
import { because } from "../../src/shared/words.ts";
import { UpError } from "../up-error.ts";
import { NAMES, pathIn } from "./names.ts";

/** Bits of a mode by which others than the owner may do something. */
const OTHERS = 0o077;
const WORLD_WRITES = 0o002;
const STICKY = 0o1000;
const ROOT = 0;

/**
 * Refuses a state directory that somebody else has made: what lies in it is run, and its secrets are used. To
 * be called before anything is read or written below it. Throws an `UpError`.
 */
export function checkStateDir(dir: string): void {
  const stats = lstatSync(dir);
  if (stats.isSymbolicLink()) throw refused(dir, "it is a link, and may come to lead elsewhere");
  checkOwner(dir, stats);
}

/**
 * Refuses what lies in a state directory if it did not come from a `drover up` of the caller: links, files of
 * others, secrets that others can read (unless they are about to be forgotten), and what Git tracks. A
 * repository that brings a `.drover` knows what is in it. Throws an `UpError`.
 */
export function checkStateFiles(dir: string, fresh: boolean): void {
  for (const name of NAMES) {
    const path = pathIn(dir, name);
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) continue;
    if (stats.isSymbolicLink()) throw refused(dir, `${path} is a link`);
    if (!stats.isFile() && !stats.isDirectory()) throw refused(dir, `${path} is no file`);
    checkOwner(path, stats);
    if (name === "up.json" && !fresh && (stats.mode & OTHERS) !== 0) {
      const mode = (stats.mode & 0o777).toString(8);
      const why = `${path} has mode ${mode}, so that others may know its secrets`;
      throw refused(dir, why, "Start anew with --fresh, which makes others.");
    }
  }
  const link = linkBelow(pathIn(dir, "objects"));
  if (link !== undefined) throw refused(dir, `${link} is a link`);
  checkUntracked(dir);
}

/**
 * Refuses a state directory on a file system that keeps no modes, such as FAT or a Windows drive under WSL:
 * `path` was written there for its owner alone, and others can read it all the same. Throws an `UpError`.
 */
export function checkModesStay(dir: string, path: string): void {
  if ((lstatSync(path).mode & OTHERS) === 0) return;
  const why = `its file system keeps no modes, so other users could read the secrets in ${path}`;
  throw refused(dir, why);
}

/**
 * Who can put another directory in the place of this one, beside the caller and root; undefined: nobody. That
 * is no reason to refuse it: volumes of containers are often open to everybody, or another user's.
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

/** A link in a folder that only the runtime writes to; undefined if there is none. */
function linkBelow(dir: string): string | undefined {
  if (lstatSync(dir, { throwIfNoEntry: false }) === undefined) return undefined;
  const isLink = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  const paths = readdirSync(dir, { recursive: true, encoding: "utf8" }).map((name) => join(dir, name));
  return paths.find(isLink);
}

function checkUntracked(dir: string): void {
  const tracked = trackedIn(dir);
  if (tracked === undefined) return;
  if ("unclear" in tracked) {
    throw refused(dir, because("Git cannot tell whether it tracks it", tracked.unclear));
  }
  const why = `Git tracks ${join(dir, tracked.file)}, so everybody who has the repository knows it`;
  throw refused(dir, why, `Take it out of the repository: \`git rm -r -f ${basename(dir)}\`.`);
}

function refused(dir: string, why: string, help = ""): UpError {
  const other = `${help === "" ? "Name" : "Or name"} another directory with --state.`;
  return new UpError(
    `The state directory ${dir} is refused: ${why}. ${help === "" ? "" : `${help} `}${other}`,
  );
}
