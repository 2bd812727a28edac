import { lchownSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { TaskSpec } from "../../src/schema/run.ts";
import { type ReadyTask, readyTask } from "../core/task-environment.ts";
import { readIfThere, replaceFile } from "../files.ts";
import { type Account, accountOf, asAccount, checkReach, isOwn } from "./account.ts";
import type { AllocDirs, TaskDirs } from "./alloc-dirs.ts";
import { fetchArtifacts } from "./artifacts.ts";
import { baseEnvironment, readNode } from "./environment.ts";
import { resolveCommand } from "./resolve.ts";
import { StartFault } from "./start-fault.ts";

export interface PrestartOptions {
  allocs: AllocDirs;
  /** Marks every process of this host (`DROVER_INSTANCE`). */
  instance: string | undefined;
  /** Names this boot of the machine. */
  boot: string;
  /** The id of this host's worker, once it has joined. */
  worker: () => string | undefined;
}

/** All that is needed to start a command. */
export interface Launch {
  argv: string[];
  dir: string;
  env: Record<string, string>;
}

/** A task with all references looked up, and where and as whom it runs. */
interface Scene {
  dirs: TaskDirs;
  ready: ReadyTask;
  account: Account | undefined;
}

/**
 * What is done before a command starts, in this order: directories, artifacts (both here, `prepare`); then
 * environment, user (`ready`), limits, logs and the start itself (`Supervisor`). What is done stays done: for
 * each attempt of the task on this placement, and for later starts of the agent in this boot. What was
 * interrupted is done again. Each throws a `StartFault`, or what the system says.
 */
export class Prestart {
  readonly #options: PrestartOptions;

  constructor(options: PrestartOptions) {
    this.#options = options;
  }

  /** Directories and artifacts: what may take long, and can be stopped by `signal`. */
  async prepare(id: string, task: TaskSpec, signal: AbortSignal): Promise<void> {
    const { dirs, ready } = await this.#scene(id, task);
    await fetchArtifacts(ready.artifacts, { dirs, boot: this.#options.boot, signal });
  }

  /** Directories again, since a task can delete what it has; environment and user. */
  async ready(id: string, task: TaskSpec): Promise<Launch> {
    const { dirs, ready, account } = await this.#scene(id, task);
    const { argv, env } = ready;
    const dir = resolve(dirs.local, ready.dir ?? ".");
    const [name = "", ...args] = argv;
    const resolved = resolveCommand(name, env.PATH ?? "", dir);
    if (!resolved.ok) throw new StartFault(resolved.startError.code, resolved.startError.text);
    if (account !== undefined && !isOwn(account)) {
      this.#giveOnce(id, dirs, account);
      await checkReach(account, dir, resolved.file);
      return { argv: [...asAccount(account), resolved.file, ...args], dir, env };
    }
    // `exec` would take a name that begins with a dash for an option of its own.
    return { argv: [name.startsWith("-") ? resolved.file : name, ...args], dir, env };
  }

  async #scene(id: string, task: TaskSpec): Promise<Scene> {
    const { allocs, instance, worker } = this.#options;
    const dirs = allocs.make(id);
    const around = { id, dirs, instance, node: readNode(worker()) };
    const ready = readyTask(task, { ...around, base: baseEnvironment() });
    if (ready.user === undefined) return { dirs, ready, account: undefined };
    const account = await accountOf(ready.user);
    return { dirs, ready: readyTask(task, { ...around, base: baseEnvironment(account) }), account };
  }

  /**
   * Gives a task's files to its user, before anything of that user has run there. Only then all of them: a
   * user could put a second name of a file of somebody else's into its directory.
   */
  #giveOnce(id: string, dirs: TaskDirs, account: Account): void {
    const note = join(dirs.private, "user");
    if (readIfThere(note) === undefined) giveAll(dirs.local, account);
    this.#options.allocs.giveTo(id, account);
    replaceFile(note, account.name);
  }
}

/** Everything below a folder, and nothing that a link leads to. */
function giveAll(folder: string, account: Account): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    lchownSync(path, account.uid, account.gid);
    if (entry.isDirectory()) giveAll(path, account);
  }
}
