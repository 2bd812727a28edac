// What must be done before a command starts, and how is it then started?
import { chmodSync, existsSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { replaceFile } from "../../disk/atomic.ts";
import { readIfThere } from "../../posix/files.ts";
import type { Container } from "../../src/schema/run/container.ts";
import type { TaskSpec } from "../../src/schema/run/run.ts";
import type { Millis } from "../../src/shared/machine.ts";
import { MARKS, type ReadyTask, readyTask, straysFrom } from "../core/attempts/task-environment.ts";
import type { Identity } from "../plane/identity.ts";
import type { Snapshots } from "../plane/snapshots.ts";
import { type Account, accountOf, asMember, checkReach, isOwn, memberOf } from "./account.ts";
import { baseEnvironment, readNode } from "./environment.ts";
import type { AllocDirs, TaskDirs } from "./files/alloc-dirs.ts";
import { checkScript, resolveCommand } from "./files/resolve.ts";
import type { Owner } from "./files/secret-files.ts";
import { giveAllIn } from "./files/tree.ts";
import { fetchArtifacts } from "./inputs/artifacts.ts";
import { writePayload } from "./inputs/payload.ts";
import { fetchSnapshot } from "./inputs/snapshot.ts";
import type { Inside } from "./processes/inside.ts";
import { StartFault } from "./start-fault.ts";
import type { TaskSecrets } from "./task-secrets.ts";

/** How long the look-up of a user may take. */
const SET_UP_MS: Millis = 30_000;

export interface PrestartOptions {
  allocs: AllocDirs;
  /** Marks every process of this host (`DROVER_INSTANCE`). */
  instance: string | undefined;
  /** The id of this boot of the machine. */
  boot: string;
  /** The id of this host's worker, once it has joined. */
  worker: () => string | undefined;
  /** Where an attempt gets tokens that say which run it is; undefined if this host is not enrolled. */
  identityOf: (id: string) => Identity | undefined;
  /** The variables that tell an attempt which devices it has (devices.md#environment). */
  devicesOf: (id: string) => Record<string, string>;
  /** The snapshots of the control plane; undefined before the host has joined, or without a bucket. */
  snapshots: () => Snapshots | undefined;
  secrets: Pick<TaskSecrets, "fetch" | "dirOf" | "give">;
  /** Makes sure that the image of an attempt is on this machine. Rejects with a `StartFault`. */
  pull: (id: string, container: Container, signal: AbortSignal) => Promise<void>;
}

/** All that is needed to start a command. */
export interface Launch {
  argv: string[];
  dir: string;
  env: Record<string, string>;
  /** The file for the command's standard input; absent: no input. */
  stdin: string | undefined;
}

/** All that is needed to make the container of a command. */
export interface ContainedLaunch {
  argv: string[];
  env: Record<string, string>;
  dir: string;
  /** The directories that the container sees under the names that they have on the machine. */
  shared: string[];
}

/**
 * The steps before a command starts, in order: directories, secrets, artifacts, snapshot, payload
 * (`prepare`); environment, user, standard input, files of secrets (`ready`); then limits, logs and the start
 * itself (a `Driver`). Secrets are fetched for each attempt. The rest of `prepare` is done once for all
 * attempts of the task on this placement, even if the agent restarts in this boot. `prepare` and `ready`
 * throw a `StartFault` or the system's error.
 */
export class Prestart {
  readonly #options: PrestartOptions;

  constructor(options: PrestartOptions) {
    this.#options = options;
  }

  /** Directories, secrets, artifacts, snapshot, payload: what may take long. `signal` stops these steps. */
  async prepare(id: string, task: TaskSpec, signal: AbortSignal): Promise<{ secretsOnDisk?: true }> {
    const { dirs, ready } = await this.#setUp(id, task, signal);
    const { boot, snapshots, secrets } = this.#options;
    // First, so that the errors of the other steps are masked, too.
    const hasFiles = task.secrets !== undefined && (await secrets.fetch(id, task.secrets, signal));
    // An engine keeps the variables of its containers in a file.
    const isTold = Object.values(task.secrets ?? {}).some(({ as }) => as === "env");
    const onDisk = hasFiles || (task.container !== undefined && isTold);
    const place = { dirs, boot, signal };
    await fetchArtifacts(ready.artifacts, place);
    if (task.snapshot !== undefined) await fetchSnapshot(task.snapshot, snapshots(), place);
    if (task.payload !== undefined) await writePayload(task.payload, place);
    if (task.container !== undefined) await this.#options.pull(id, task.container, signal);
    return onDisk ? { secretsOnDisk: true } : {};
  }

  /**
   * Environment, user, standard input, and again the directories: an earlier attempt may have deleted them.
   */
  async ready(id: string, task: TaskSpec, signal: AbortSignal): Promise<Launch> {
    const { dirs, ready, account } = await this.#setUp(id, task, signal);
    const { argv } = ready;
    const dir = workingDir(dirs, task, ready);
    const stdin = task.stdin === undefined ? undefined : writeStdin(dirs, task.stdin);
    const [name = "", ...args] = argv;
    const file = resolveCommand(name, ready.env.PATH ?? "", dir);
    if (account !== undefined && !isOwn(account)) {
      const group = this.#giveOnce(id, dirs, account);
      const member = await memberOf(account, group, { signal });
      const env = this.#environment(id, task, ready, { uid: account.uid, gid: account.gid, group });
      // If `setpriv` cannot start the command, its exit 127 would look like the command's own.
      checkScript(file, await checkReach(member, dir, file, { signal }), dir);
      return { argv: [...asMember(member), file, ...args], dir, env, stdin };
    }
    const env = this.#environment(id, task, ready);
    // `exec` would read a name that begins with a dash as an option.
    return { argv: [name.startsWith("-") ? file : name, ...args], dir, env, stdin };
  }

  /**
   * As `ready`, for a command in a container: the program is looked up there, and the user, the search path
   * and the home directory are the image's (containers.md#environment).
   */
  async contained(id: string, task: TaskSpec, signal: AbortSignal): Promise<ContainedLaunch> {
    const { dirs, ready } = await this.#setUp(id, task, signal);
    const dir = workingDir(dirs, task, ready);
    const { alloc, local, secrets, tmp } = dirs;
    const own = [alloc, local, secrets, tmp];
    const shared = own.some((one) => dir === one || dir.startsWith(`${one}/`)) ? own : [...own, dir];
    return { argv: ready.argv, env: this.#environment(id, task, ready), dir, shared };
  }

  /** Gives the files of a task to the user of its container, secrets included (containers.md#users). */
  async give(id: string, task: TaskSpec, account: Account, signal: AbortSignal): Promise<void> {
    const { dirs } = await this.#setUp(id, task, signal);
    const group = this.#giveOnce(id, dirs, account);
    this.#options.secrets.give(id, task, { uid: account.uid, gid: account.gid, group });
  }

  /**
   * Where the command of an ended attempt has run: the words that take on its user, its directory and its
   * environment, with the values of its secrets that this host still has (tasks.md#kept-2). The first of
   * these commands finds the files of its secrets written again; those that are there stay.
   */
  async inside(
    id: string,
    task: TaskSpec,
    stop: AbortSignal,
  ): Promise<Pick<Inside, "before" | "dir" | "env">> {
    const signal = AbortSignal.any([stop, AbortSignal.timeout(SET_UP_MS)]);
    const { dirs, ready, account } = await this.#setUp(id, task, signal);
    const dir = workingDir(dirs, task, ready);
    if (account === undefined || isOwn(account))
      return { before: [], dir, env: this.#environment(id, task, ready) };
    const group = this.#giveOnce(id, dirs, account);
    const before = asMember(await memberOf(account, group, { signal }));
    const { uid, gid } = account;
    return { before, dir, env: this.#environment(id, task, ready, { uid, gid, group }) };
  }

  /**
   * The environment with the task's secrets, whose files are written. Secrets come last, so no reference
   * leads to one, and no value gets into the arguments. Drover's own marks stay as they are.
   */
  #environment(id: string, task: TaskSpec, { env }: ReadyTask, owner?: Owner): Record<string, string> {
    const given = this.#options.secrets.give(id, task, owner);
    const fixed = [...MARKS, ...Object.keys(this.#options.devicesOf(id))];
    const marks = Object.entries(env).filter(([name]) => fixed.includes(name));
    return { ...env, ...given, ...Object.fromEntries(marks) };
  }

  /** The directories of a task, its references resolved, and its user; undefined: the agent's own. */
  async #setUp(id: string, task: TaskSpec, signal: AbortSignal) {
    const { allocs, instance, worker, identityOf, devicesOf, secrets } = this.#options;
    const made = allocs.make(id);
    const dirs = { ...made, secrets: secrets.dirOf(id, task) ?? made.secrets };
    const identity = task.identity === true ? identityOf(id) : undefined;
    const around = { id, dirs, instance, identity, devices: devicesOf(id), node: readNode(worker()) };
    const base = task.container === undefined ? baseEnvironment() : {};
    const ready = readyTask(task, { ...around, base });
    if (ready.user === undefined) return { dirs, ready, account: undefined };
    const account = await accountOf(ready.user, { signal });
    return { dirs, ready: readyTask(task, { ...around, base: baseEnvironment(account) }), account };
  }

  /**
   * Gives a task's files to its user, once, before any process of that user has run there: later the user
   * could put a hard link to another user's file there, and would be given that file. Shared data from a
   * snapshot, which has no owners, go to the user of the first task that starts. Returns the placement's
   * group.
   */
  #giveOnce(id: string, dirs: TaskDirs, account: Account): number {
    const note = join(dirs.private, "user");
    if (readIfThere(note) === undefined) giveAllIn(dirs.local, account);
    const unowned = this.#options.allocs.unownedOf(id);
    if (existsSync(unowned)) {
      giveAllIn(join(dirs.alloc, "data"), account);
      rmSync(unowned);
    }
    const group = this.#options.allocs.giveTo(id, account);
    replaceFile(note, account.name);
    return group;
  }
}

function workingDir(dirs: TaskDirs, { dir: written }: TaskSpec, { dir: resolved = "." }: ReadyTask): string {
  const dir = resolve(dirs.local, resolved);
  if (!straysFrom(dirs, written, dir)) return dir;
  const text = `\`dir\` resolves to ${dir}, which is outside the task's directory.`;
  throw new StartFault("start_failed", `${text} Use an absolute \`dir\`, in a pool that allows it.`);
}

/**
 * Writes the standard input of a task to a new file: a process that reads the old file is not disturbed.
 * Other users cannot reach the file by its name, but a task of any user may open `/dev/stdin`.
 */
function writeStdin(dirs: TaskDirs, text: string): string {
  const file = join(dirs.private, "stdin");
  replaceFile(file, text);
  chmodSync(file, 0o444);
  return file;
}
