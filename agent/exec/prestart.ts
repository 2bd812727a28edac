import { chmodSync, existsSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { readIfThere, replaceFile } from "../../posix/files.ts";
import type { TaskSpec } from "../../src/schema/run/run.ts";
import { type ReadyTask, readyTask, straysFrom } from "../core/attempts/task-environment.ts";
import type { Snapshots } from "../plane/snapshots.ts";
import { type Account, accountOf, asMember, checkReach, isOwn, memberOf } from "./account.ts";
import { baseEnvironment, readNode } from "./environment.ts";
import type { AllocDirs, TaskDirs } from "./files/alloc-dirs.ts";
import { fetchArtifacts } from "./files/artifacts.ts";
import { resolveCommand, scriptProblem } from "./files/resolve.ts";
import { fetchSnapshot } from "./files/snapshot.ts";
import { giveAllIn } from "./files/tree.ts";
import { StartFault } from "./start-fault.ts";

export interface PrestartOptions {
  allocs: AllocDirs;
  /** Marks every process of this host (`DROVER_INSTANCE`). */
  instance: string | undefined;
  /** Names this boot of the machine. */
  boot: string;
  /** The id of this host's worker, once it has joined. */
  worker: () => string | undefined;
  /** Where snapshots are, once it has joined; undefined if there are none. */
  snapshots: () => Snapshots | undefined;
}

/** All that is needed to start a command. */
export interface Launch {
  argv: string[];
  dir: string;
  env: Record<string, string>;
  /** The file that is its standard input; absent: it has none. */
  stdin: string | undefined;
}

/** A task with all references looked up, and where and as whom it runs. */
interface Scene {
  dirs: TaskDirs;
  ready: ReadyTask;
  account: Account | undefined;
}

/**
 * What is done before a command starts, in this order: directories, artifacts, snapshot (here, `prepare`);
 * then environment, user, standard input (`ready`), limits, logs and the start itself (a `Driver`). What is
 * done stays done: for each attempt of the task on this placement, and for later starts of the agent in this
 * boot. What was interrupted is done again. Each throws a `StartFault`, or what the system says.
 */
export class Prestart {
  readonly #options: PrestartOptions;

  constructor(options: PrestartOptions) {
    this.#options = options;
  }

  /** Directories, artifacts and the snapshot: what may take long, and can be stopped by `signal`. */
  async prepare(id: string, task: TaskSpec, signal: AbortSignal): Promise<void> {
    const { dirs, ready } = await this.#scene(id, task, signal);
    const { boot, snapshots } = this.#options;
    const place = { dirs, boot, signal };
    await fetchArtifacts(ready.artifacts, place);
    if (task.snapshot !== undefined) await fetchSnapshot(task.snapshot, snapshots(), place);
  }

  /** Directories again, since a task can delete what it has; environment, user and standard input. */
  async ready(id: string, task: TaskSpec, signal: AbortSignal): Promise<Launch> {
    const { dirs, ready, account } = await this.#scene(id, task, signal);
    const { argv, env } = ready;
    const dir = workingDir(dirs, task, ready);
    const stdin = task.stdin === undefined ? undefined : writeStdin(dirs, task.stdin);
    const [name = "", ...args] = argv;
    const resolved = resolveCommand(name, env.PATH ?? "", dir);
    if (!resolved.ok) throw new StartFault(resolved.startError.code, resolved.startError.text);
    if (account !== undefined && !isOwn(account)) {
      const member = await memberOf(account, this.#giveOnce(id, dirs, account), { signal });
      const beginning = await checkReach(member, dir, resolved.file, { signal });
      // Below another program than the shim nobody tells this from a command that exits with 127.
      const problem = scriptProblem(resolved.file, beginning, dir);
      if (problem !== undefined) throw new StartFault(problem.code, problem.text);
      return { argv: [...asMember(member), resolved.file, ...args], dir, env, stdin };
    }
    // `exec` would take a name that begins with a dash for an option of its own.
    return { argv: [name.startsWith("-") ? resolved.file : name, ...args], dir, env, stdin };
  }

  async #scene(id: string, task: TaskSpec, signal: AbortSignal): Promise<Scene> {
    const { allocs, instance, worker } = this.#options;
    const dirs = allocs.make(id);
    const around = { id, dirs, instance, node: readNode(worker()) };
    const ready = readyTask(task, { ...around, base: baseEnvironment() });
    if (ready.user === undefined) return { dirs, ready, account: undefined };
    const account = await accountOf(ready.user, { signal });
    return { dirs, ready: readyTask(task, { ...around, base: baseEnvironment(account) }), account };
  }

  /**
   * Gives a task's files to its user, before anything of that user has run there. Shared data that came from
   * a snapshot, which knows no owners, go to the user of the first task that starts. Only then all of them: a
   * user could put a second name of a file of somebody else's into its directory. Returns the placement's
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

function workingDir(dirs: TaskDirs, { dir: said }: TaskSpec, { dir: filled = "." }: ReadyTask): string {
  const dir = resolve(dirs.local, filled);
  if (!straysFrom(dirs, said, dir)) return dir;
  const text = `\`dir\` is ${dir} once its references are looked up: that is outside of the task's directory`;
  throw new StartFault(
    "start_failed",
    `${text}. Begin it with a slash, in a pool that allows absolute ones.`,
  );
}

/**
 * Writes what a task reads, as a new file: what reads the one before it goes on. Nobody but the agent gets to
 * it by name; whoever has it open may open it again (`/dev/stdin`), as any user.
 */
function writeStdin(dirs: TaskDirs, text: string): string {
  const file = join(dirs.private, "stdin");
  replaceFile(file, text);
  chmodSync(file, 0o444);
  return file;
}
