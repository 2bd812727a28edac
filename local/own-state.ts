import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { lstatSync, readdirSync, type Stats } from "node:fs";
import { basename, dirname, join } from "node:path";
import { because } from "../src/core/words.ts";
import { errnoOf } from "./files.ts";
import { NAMES, pathIn } from "./names.ts";
import { UpError } from "./up-error.ts";

/** Bits of a mode by which others than the owner may do something. */
const OTHERS = 0o077;
const WORLD_WRITES = 0o002;
const STICKY = 0o1000;
const ROOT = 0;
/** Git answers at once. One that hangs is no reason not to start. */
const GIT_TIMEOUT_MS = 10_000;

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
  const tracked = trackedBelow(dir);
  if (tracked !== undefined) {
    const why = `Git tracks ${tracked}, so that whoever has the repository knows it and can change it`;
    throw refused(dir, why, `Take it out of the repository: git rm -r -f ${basename(dir)}`);
  }
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

/**
 * A file of the directory that Git tracks; undefined if there is none, or no Git. Throws an `UpError` if Git
 * cannot tell. The repository is not trusted: no program that its configuration may name is run by this, be
 * it to watch files or to fetch what a partial clone has left out.
 */
function trackedBelow(dir: string): string | undefined {
  const args = ["-c", "core.fsmonitor=false", "-C", dir, "ls-files", "-z", "--", "."];
  const env = {
    PATH: process.env.PATH,
    LC_ALL: "C",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ALLOW_PROTOCOL: "none",
  };
  const done = spawnSync("git", args, { env, timeout: GIT_TIMEOUT_MS, encoding: "utf8" });
  const [first = ""] = done.stdout?.split("\0") ?? [];
  // Much may be tracked, and not all of it be heard: the first of it is enough.
  if (first !== "") return join(dir, first);
  if (done.status === 0 || isNoRepository(done)) return undefined;
  const [why = ""] = (done.stderr ?? "").split("\n");
  throw refused(
    dir,
    because("Git cannot tell whether it tracks it", why || String(done.error ?? done.signal)),
  );
}

/** Whether there is no Git, or no repository that Git would look into for this user. */
function isNoRepository({ error, stderr }: SpawnSyncReturns<string>): boolean {
  if (error !== undefined) return errnoOf(error) === "ENOENT";
  return /not a git repository|dubious ownership/i.test(stderr);
}

function refused(dir: string, why: string, help = ""): UpError {
  const other = `${help === "" ? "Name" : "Or name"} another directory with --state.`;
  return new UpError(
    `The state directory ${dir} is refused: ${why}. ${help === "" ? "" : `${help} `}${other}`,
  );
}
