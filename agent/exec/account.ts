// Which user does a command run as, and can that user reach it?
import { execFile } from "node:child_process";
import { basename } from "node:path";
import { promisify } from "node:util";
import { isStarved } from "../../posix/errors.ts";
import type { Millis } from "../../src/shared/machine.ts";
import { errorText } from "../../src/shared/words.ts";
import { baseEnvironment } from "./environment.ts";
import { closedParent } from "./files/reach.ts";
import { MAX_FIRST_LINE_BYTES } from "./files/resolve.ts";
import { StartFault } from "./start-fault.ts";

const run = promisify(execFile);

/** A look-up of a user in a remote directory (LDAP) may hang. After this time the start fails. */
const ANSWER_WITHIN_MS: Millis = 30_000;

/** When to give up on a program of the system: at the abort of the start, or after this time. */
interface Limits {
  /** The program that looks up users. Tests use one that does not answer. */
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

/** A user with the additional groups of its commands. */
export interface Member extends Account {
  groups: readonly number[];
}

/** Exit statuses of the script in `checkReach`. */
const NO_DIRECTORY = 3;
const NO_PROGRAM = 4;

/**
 * Finds a user by name or number, as the machine itself does. Rejects with a `StartFault` if a command cannot
 * run as this user, or with the reason of the signal.
 */
export async function accountOf(
  user: string,
  limits: Limits = {},
  ownUid = process.geteuid?.(),
): Promise<Account> {
  const unknown = new StartFault("user_not_found", `There is no user "${user}" on this machine.`);
  const line = await ask([limits.getent ?? "getent", "passwd", "--", user], limits, (error, why) =>
    // If there is an exit code, `getent` has answered: there is no such user.
    typeof codeOf(error) === "number"
      ? unknown
      : new StartFault("start_failed", `This machine cannot look up the user "${user}": ${why}`),
  );
  const account = parseAccount(line);
  if (account === undefined) throw unknown;
  if (ownUid !== 0 && account.uid !== ownUid) {
    const text = `The agent of this machine is not root, so it cannot run a command as user "${user}".`;
    throw new StartFault("start_failed", `${text} Run the agent as root, or leave \`user\` out.`);
  }
  return account;
}

/** Whether this is the agent's own user. */
export function isOwn({ uid }: Account): boolean {
  return uid === process.geteuid?.();
}

/**
 * Runs a program of the system, and resolves with its output. If it fails, rejects with a fault from
 * `faultOf`.
 */
async function ask(
  [program = "", ...args]: string[],
  { signal, withinMs = ANSWER_WITHIN_MS }: Limits,
  faultOf: (error: unknown, why: string) => StartFault,
): Promise<string> {
  const options = {
    cwd: "/",
    env: baseEnvironment(),
    timeout: withinMs,
    killSignal: "SIGKILL",
    signal,
  } as const;
  try {
    return (await run(program, args, options)).stdout;
  } catch (error) {
    signal?.throwIfAborted();
    if (isStarved(error)) throw error;
    const isLate = error instanceof Error && "killed" in error && error.killed === true;
    const late = `\`${basename(program)}\` has not answered within ${withinMs / 1_000} s.`;
    throw faultOf(error, isLate ? late : errorText(error));
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

/** Reads a line of the system's list of users (`passwd(5)`); undefined if it is not valid. */
export function parseAccount(line: string): Account | undefined {
  const [name = "", , uid = "", gid = "", , home = ""] = line.trim().split(":");
  if (name === "" || !/^\d+$/.test(uid) || !/^\d+$/.test(gid)) return undefined;
  return { name, uid: Number(uid), gid: Number(gid), home: home === "" ? "/" : home };
}

/**
 * The user with all groups that a login would give, and with `group`. Rejects with a `StartFault` if the
 * machine cannot list these groups, or with the reason of the signal.
 */
export async function memberOf(account: Account, group: number, limits: Limits = {}): Promise<Member> {
  const ids = await ask(["id", "-G", "--", account.name], limits, (_, why) => {
    const text = `This machine cannot look up the groups of user "${account.name}": ${why}`;
    return new StartFault("start_failed", text);
  });
  return { ...account, groups: [...(ids.match(/\b\d+\b/g) ?? []).map(Number), group] };
}

/**
 * The words before a command that make it run as this user, with all of the user's groups. The shim stays
 * root, since the shim writes files that the user may not write.
 */
export function asMember({ uid, gid, groups }: Member): string[] {
  return ["setpriv", "--reuid", String(uid), "--regid", String(gid), "--groups", groups.join(","), "--"];
}

/** A text that says which directory keeps a user out, and what to do. */
function closedText(account: Member, dir: string): string {
  const closed = closedParent(dir, account);
  if (closed === undefined) return "it, or a directory above it, is closed to that user.";
  const { dir: parent, mode } = closed;
  return (
    `${parent} (mode ${mode}) is closed to that user. Open it with \`chmod o+x ${parent}\`, or ` +
    "keep what the run needs elsewhere: its own directories are below the `--state` of the agent."
  );
}

/**
 * Checks, as the user itself, that the user can enter the directory and execute the command. Returns the
 * beginning of the command's file if the user may read it. The check comes before the start, because after
 * the start a command that cannot be executed looks like a command that exits with 126 or 127. Rejects with a
 * `StartFault`.
 */
export function checkReach(account: Member, dir: string, file: string, limits: Limits = {}): Promise<string> {
  const check = `[ -x "$1" ] && cd "$1" || exit ${NO_DIRECTORY}; [ -x "$2" ] || exit ${NO_PROGRAM}
head -c ${MAX_FIRST_LINE_BYTES} <"$2" 2>/dev/null; exit 0`;
  const argv = [...asMember(account), "sh", "-c", check, "sh", dir, file];
  return ask(argv, limits, (error, why) => faultOf(codeOf(error), why, account, dir, file));
}

function faultOf(code: unknown, why: string, account: Member, dir: string, file: string): StartFault {
  const { name } = account;
  if (code === NO_DIRECTORY) {
    return new StartFault(
      "directory_not_found",
      `User "${name}" cannot enter ${dir}: ${closedText(account, dir)}`,
    );
  }
  if (code === NO_PROGRAM) {
    return new StartFault("not_executable", `User "${name}" may not execute ${file} on this machine.`);
  }
  if (code === "ENOENT") {
    const text = 'This machine needs "setpriv" to run a command as another user.';
    return new StartFault("start_failed", `${text} Install util-linux, which contains it.`);
  }
  return new StartFault("start_failed", `This machine cannot run a command as user "${name}": ${why}`);
}
