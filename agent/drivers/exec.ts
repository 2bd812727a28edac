// The driver for commands: each runs below a shim that outlives the agent.
import { existsSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { entrancesOf } from "../../posix/cgroup.ts";
import { killTree } from "../../posix/kill.ts";
import { childrenOf, lives, type Proc, readProc, sendSignal } from "../../posix/proc.ts";
import type { Means } from "../../src/schema/host.ts";
import type { SignalName, TaskSpec } from "../../src/schema/run/run.ts";
import type { Instant, Millis } from "../../src/shared/machine.ts";
import type { AttemptJournal } from "../core/journal.ts";
import type { RawUsage } from "../core/types.ts";
import { markersOf } from "../exec/environment.ts";
import type { AllocDirs } from "../exec/files/alloc-dirs.ts";
import type { Prestart } from "../exec/prestart.ts";
import type { AttemptStore } from "../exec/processes/dirs.ts";
import { readEnd } from "../exec/processes/end.ts";
import type { Groups } from "../exec/processes/groups.ts";
import { patiently } from "../exec/processes/patiently.ts";
import { readShim, spawnShim } from "../exec/processes/shim.ts";
import { measure } from "../exec/processes/usage.ts";
import type { Driver, Killed, Recovered, TaskEnd, TellEnd } from "./driver.ts";

/** How long a shim that has nothing left to wait for may take to write the status and end. */
const SHIM_END_MS: Millis = 2_000;
/** How long after its start a shim may not have its main process yet. */
const MAIN_APPEARS_MS: Millis = 1_000;
const LOOK_MS: Millis = 5;

/** How often a shim that another start of the agent has started is looked at: only its own child tells. */
const ADOPTED_LOOK_MS: Millis = 50;

/** A list of pids is cut: a fork bomb would make a text of pages. */
const MAX_PIDS_NAMED = 20;

/** One attempt whose shim was started by this agent, or by an earlier start of it. */
interface Running {
  shim: Proc;
  /** Settles when the shim has ended and, if it lived when we began, that has been told. */
  ended: Promise<void>;
}

export interface ExecDriverOptions {
  store: AttemptStore;
  allocs: AllocDirs;
  prestart: Pick<Prestart, "ready">;
  groups: Groups;
  now: () => Instant;
  /** See `readShimEnd`. */
  shellTells: boolean;
  ended: TellEnd;
}

/** Runs commands as processes: below a shim that outlives the agent, in a cgroup where there is one. */
export class ExecDriver implements Driver {
  readonly #options: ExecDriverOptions;
  readonly #running = new Map<string, Running>();

  constructor(options: ExecDriverOptions) {
    this.#options = options;
  }

  async start(id: string, task: TaskSpec, stop: AbortSignal): Promise<Means["kill"] | undefined> {
    const { prestart, groups, store, ended: tellEnd } = this.#options;
    const { argv, dir, env, stdin } = await prestart.ready(id, task, stop);
    const { umask, resources, memoryLimitBytes = resources.memoryBytes } = task;
    const group = groups.make(id, { vcpus: resources.vcpus, memoryBytes: memoryLimitBytes });
    const entrances = group === undefined ? [] : entrancesOf(group);
    const child = await spawnShim(argv, entrances, dir, env, { ...store.dirsOf(id), stdin, umask });
    const ended = new Promise<void>((settle) => {
      child.once("exit", async (code) => {
        tellEnd(id, await patiently(() => this.#readEnd(id, code)));
        settle();
      });
    });
    const shim = await patiently(() => readProc(child.pid ?? 0));
    if (shim !== undefined) this.#running.set(id, { shim, ended });
    return groups.means.kill;
  }

  /** Any attempt is one of these that no other driver has left a trace of. */
  recover(id: string, journal: AttemptJournal): Recovered {
    const { store, now } = this.#options;
    const dirs = store.dirsOf(id);
    if (isUntouched(journal) && existsSync(dirs.root) && store.retract(id)) return { kind: "unbegun" };
    const shim = readShim(dirs);
    const running = shim !== undefined && lives(shim);
    if (shim !== undefined) {
      this.#running.set(id, { shim, ended: running ? this.#watch(id, shim) : Promise.resolve() });
    }
    if (running) return { kind: "running" };
    // Only now: a shim that ended in between has written its status by the time that it is gone.
    const end = this.#readEnd(id);
    if ("lost" in end) return { kind: "lost" };
    const agoMs = Math.max(0, Date.now() - statSync(dirs.exit).mtimeMs);
    return { kind: "ended", at: Math.max(journal.startedAt ?? 0, Math.round(now() - agoMs)), ...end };
  }

  async signal(id: string, signal: SignalName, before = () => {}): Promise<void> {
    const pid = await this.#mainPid(id);
    before();
    if (pid !== undefined) sendSignal(pid, signal);
  }

  async kill(id: string, waitMs: Millis): Promise<Killed> {
    const { allocs, groups, now } = this.#options;
    const running = this.#running.get(id);
    const markers = markersOf(id, allocs.of(id).local);
    const isMarked = (environment: string[]) => markers.every((marker) => environment.includes(marker));
    const query = { isMarked, shim: running?.shim };
    const { empty, killed, left } = await killTree(query, groups.of(id), waitMs, now);
    if (!empty) return { killed, alive: textOf(left) };
    groups.forget(id);
    if (running !== undefined) await endShim(running);
    this.#running.delete(id);
    return { killed };
  }

  usage(ids: string[]): Record<string, RawUsage> {
    const { groups } = this.#options;
    const measured = ids.map(
      (id) => [id, { group: groups.of(id), shim: this.#running.get(id)?.shim }] as const,
    );
    return measure(new Map(measured));
  }

  async #watch(id: string, shim: Proc): Promise<void> {
    do await sleep(ADOPTED_LOOK_MS);
    while (await patiently(() => lives(shim)));
    this.#options.ended(id, await patiently(() => this.#readEnd(id)));
  }

  /** `code`: what the shim has exited with, if it is a child of this process. */
  #readEnd(id: string, code: number | null = null): TaskEnd {
    const { store, groups, shellTells } = this.#options;
    return readEnd(store.dirsOf(id), groups.of(id), shellTells, code);
  }

  async #mainPid(id: string): Promise<number | undefined> {
    const { now } = this.#options;
    const running = this.#running.get(id);
    for (
      const until = now() + MAIN_APPEARS_MS;
      running !== undefined && now() < until;
      await sleep(LOOK_MS)
    ) {
      if (!lives(running.shim)) return undefined;
      const main = childrenOf(running.shim.pid).at(0);
      if (main !== undefined) return main.pid;
    }
    return undefined;
  }
}

/** The agent knew of no start, no end and no stop of it. */
function isUntouched({ startedAt, endedAt, startError, stop }: AttemptJournal): boolean {
  return [startedAt, endedAt, startError, stop].every((word) => word === undefined);
}

/**
 * With its task gone the shim writes the status and ends; one that does not is ended, and the status is
 * lost.
 */
async function endShim({ shim, ended }: Running): Promise<void> {
  const late = setTimeout(async () => {
    if (await patiently(() => lives(shim))) sendSignal(shim.pid, "SIGKILL");
  }, SHIM_END_MS);
  await ended;
  clearTimeout(late);
}

function textOf(left: number[]): string {
  if (left.length === 0)
    return "The kernel does not let go of its cgroup, although no process is seen in it.";
  const named = left.slice(0, MAX_PIDS_NAMED).join(", ");
  const more = left.length > MAX_PIDS_NAMED ? ` and ${left.length - MAX_PIDS_NAMED} more` : "";
  return `SIGKILL has not ended these processes: ${named}${more}`;
}
