import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { isStarved } from "../../posix/errors.ts";
import type { Millis } from "../../src/shared/machine.ts";
import { baseEnvironment } from "./environment.ts";
import { MAX_FIRST_LINE_BYTES } from "./files/resolve.ts";
import { closedOnWay } from "./files/way.ts";
import { StartFault } from "./start-fault.ts";

const run = promisify(execFile);

/** A list of users that lies on a server may hang: that is an error of the start, and never of the agent. */
const ANSWER_WITHIN_MS: Millis = 30_000;

/** What ends a question to the system: the end of the start that asks, or this time. */
interface Limits {
  /** The program that lists users. Tests have one that does not answer. */
  getent?: string;
  signal?: AbortSignal | undefined;
  withinMs?: Millis;
}

/** A user of this machine. */
export interface Account {
  name: string;
  uid: number;
  gid: number;
  home: string;
}

/** A user with the groups that its commands have, beside its own one. */
export interface Member extends Account {
  groups: readonly number[];
}

/** What the check below exits with. */
const NO_DIRECTORY = 3;
const NO_PROGRAM = 4;

/**
 * Finds a user by name or number, as the machine itself does. A `StartFault` says why that cannot be run.
 * Rejects with the reason of the signal if that comes first.
 */
export async function accountOf(
  user: string,
  limits: Limits = {},
  ownUid = process.geteuid?.(),
): Promise<Account> {
  const account = parseAccount(await lineOf(user, limits));
  if (account === undefined) {
    throw new StartFault("user_not_found", `There is no user "${user}" on this machine.`);
  }
  if (ownUid !== 0 && account.uid !== ownUid) {
    const text = `The agent of this machine is not root, so it cannot run a command as user "${user}".`;
    throw new StartFault("start_failed", `${text} Run the agent as root, or leave \`user\` out.`);
  }
  return account;
}

/** Whether it is the agent's own user: then nothing is to be changed for it. */
export function isOwn({ uid }: Account): boolean {
  return uid === process.geteuid?.();
}

async function lineOf(user: string, limits: Limits): Promise<string> {
  try {
    const { stdout } = await run(limits.getent ?? "getent", ["passwd", "--", user], optionsOf(limits));
    return stdout;
  } catch (error) {
    limits.signal?.throwIfAborted();
    if (isStarved(error)) throw error;
    // It has answered, by its exit code, that it knows no such user.
    if (typeof codeOf(error) === "number") return "";
    const text = `This machine cannot say who the user "${user}" is: ${reasonOf(error, "getent", limits)}`;
    throw new StartFault("start_failed", text);
  }
}

function optionsOf({ signal, withinMs = ANSWER_WITHIN_MS }: Limits) {
  const options = { cwd: "/", env: baseEnvironment(), timeout: withinMs, killSignal: "SIGKILL" as const };
  return signal === undefined ? options : { ...options, signal };
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

/** Why a program of the system has not answered. */
function reasonOf(error: unknown, program: string, { withinMs = ANSWER_WITHIN_MS }: Limits): string {
  const isLate = error instanceof Error && "killed" in error && error.killed === true;
  if (isLate) return `\`${program}\` has not answered in ${withinMs / 1_000} s.`;
  return error instanceof Error ? error.message : String(error);
}

/** Reads a line of the system's list of users (`passwd(5)`); undefined if it is none. */
export function parseAccount(line: string): Account | undefined {
  const [name = "", , uid = "", gid = "", , home = ""] = line.trim().split(":");
  if (name === "" || !/^\d+$/.test(uid) || !/^\d+$/.test(gid)) return undefined;
  return { name, uid: Number(uid), gid: Number(gid), home: home === "" ? "/" : home };
}

/**
 * The user with all of its groups, as the machine itself would log it in, and one more. Throws a `StartFault`
 * if the machine does not say which they are. Rejects with the reason of the signal if that comes first.
 */
export async function memberOf(account: Account, group: number, limits: Limits = {}): Promise<Member> {
  try {
    const { stdout } = await run("id", ["-G", "--", account.name], optionsOf(limits));
    const own = stdout.split(/\s+/).filter((word) => /^\d+$/.test(word));
    return { ...account, groups: [...own.map(Number), group] };
  } catch (error) {
    limits.signal?.throwIfAborted();
    if (isStarved(error)) throw error;
    const why = reasonOf(error, "id", limits);
    const text = `This machine cannot say which groups the user "${account.name}" has: ${why}`;
    throw new StartFault("start_failed", text);
  }
}

/**
 * What turns a command into one of this user, with all of its groups. It takes the place of what is started
 * below the shim, which itself must stay root: it writes where the user may not.
 */
export function asMember({ uid, gid, groups }: Member): string[] {
  return ["setpriv", "--reuid", String(uid), "--regid", String(gid), "--groups", groups.join(","), "--"];
}

/** What keeps a user from a directory, and what to do. */
function barOf(account: Member, dir: string): string {
  const closed = closedOnWay(dir, account);
  if (closed === undefined) return "it, or a directory above it, is closed to that user.";
  const { dir: bar, mode } = closed;
  return (
    `${bar} (mode ${mode}) is closed to that user. Open it by \`chmod o+x ${bar}\`, or ` +
    "keep what the run needs elsewhere: its own directories lie below the `--state` of the agent."
  );
}

/**
 * Looks as the user itself whether it can get at its directory and its command, and returns how the command's
 * file begins, as far as the user may read it. Afterwards nobody could tell a command that cannot be executed
 * from one that exits with 126 or 127. Throws a `StartFault`.
 */
export async function checkReach(
  account: Member,
  dir: string,
  file: string,
  limits: Limits = {},
): Promise<string> {
  const check = `[ -x "$1" ] && cd "$1" || exit ${NO_DIRECTORY}; [ -x "$2" ] || exit ${NO_PROGRAM}
head -c ${MAX_FIRST_LINE_BYTES} <"$2" 2>/dev/null; exit 0`;
  const [setpriv = "", ...args] = [...asMember(account), "sh", "-c", check, "sh", dir, file];
  try {
    return (await run(setpriv, args, optionsOf(limits))).stdout;
  } catch (error) {
    limits.signal?.throwIfAborted();
    if (isStarved(error)) throw error;
    throw faultOf(error, account, dir, file, limits);
  }
}

function faultOf(error: unknown, account: Member, dir: string, file: string, limits: Limits): StartFault {
  const { name } = account;
  const code = codeOf(error);
  if (code === NO_DIRECTORY) {
    return new StartFault(
      "directory_not_found",
      `User "${name}" cannot enter ${dir}: ${barOf(account, dir)}`,
    );
  }
  if (code === NO_PROGRAM) {
    return new StartFault("not_executable", `User "${name}" may not execute ${file} on this machine.`);
  }
  if (code === "ENOENT") {
    const text = 'To run a command as another user this machine needs "setpriv", which it lacks.';
    return new StartFault("start_failed", `${text} It is a part of util-linux.`);
  }
  const said = reasonOf(error, "setpriv", limits);
  return new StartFault("start_failed", `This machine cannot run a command as user "${name}": ${said}`);
}
