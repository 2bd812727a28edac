// How are commands run as processes? Each runs below a shim that outlives the agent.
import { existsSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { entrancesOf } from "../../posix/cgroup.ts";
import { killTree } from "../../posix/kill.ts";
import { childrenOf, environmentOf, lives, type Proc, sendSignal } from "../../posix/proc.ts";
import type { Means } from "../../src/schema/host.ts";
import type { SignalName, TaskSpec } from "../../src/schema/run/run.ts";
import type { Instant, Millis } from "../../src/shared/machine.ts";
import { type AttemptJournal, isUntouched } from "../core/journal.ts";
import type { RawUsage } from "../core/types.ts";
import { markersOf } from "../exec/environment.ts";
import type { AllocDirs } from "../exec/files/alloc-dirs.ts";
import type { Prestart } from "../exec/prestart.ts";
import type { AttemptStore } from "../exec/processes/dirs.ts";
import { outOfMemoryKills } from "../exec/processes/group.ts";
import type { Groups } from "../exec/processes/groups.ts";
import { type Inside, insideAs, insideOf } from "../exec/processes/inside.ts";
import { PeakKeeper } from "../exec/processes/peaks.ts";
import { retryWhileStarved } from "../exec/processes/retry-while-starved.ts";
import { measure } from "../exec/processes/usage.ts";
import { readShimEnd, readShimFile, type Started } from "../exec/shims/shim.ts";
import { disown, type Shims } from "../exec/shims/shims.ts";
import type { Driver, KillResult, OnTaskEnd, RecoveredState, TaskEnd } from "./driver.ts";

/** How long a shim may take to write the status and exit after its task has ended. */
const SHIM_END_MS: Millis = 2_000;
const SHIM_LOOK_MS: Millis = 20;
/** How long a shim may take to start its main process. */
const MAIN_APPEARS_MS: Millis = 1_000;
const LOOK_MS: Millis = 5;

/** How often an adopted shim is polled: it is not a child of this process, so there is no exit event. */
const ADOPTED_LOOK_MS: Millis = 50;

/** The most pids that an error names: a fork bomb would fill pages. */
const MAX_PIDS_NAMED = 20;

/** An attempt whose shim was started by this agent, or recovered. */
interface Running extends Pick<Started, "main" | "release"> {
  shim: Proc;
  /** Settles when the shim will start no process of the attempt any more, and the end was reported. */
  ended: Promise<void>;
  /** The shim will start no process of the attempt any more. */
  isOver: boolean;
}

export interface ExecDriverOptions {
  store: AttemptStore;
  allocs: AllocDirs;
  prestart: Pick<Prestart, "ready" | "inside">;
  groups: Groups;
  shims: Shims;
  /** Whether another agent of this host may be about to start attempts. Absent: none is. */
  isBeside?: boolean;
  now: () => Instant;
  ended: OnTaskEnd;
}

/** Runs commands below a shim that outlives the agent, in a cgroup where there is one. */
export class ExecDriver implements Driver {
  readonly #options: ExecDriverOptions;
  readonly #running = new Map<string, Running>();
  readonly #peaks: PeakKeeper;

  constructor(options: ExecDriverOptions) {
    this.#options = options;
    this.#peaks = new PeakKeeper(options);
  }

  async start(id: string, task: TaskSpec, stop: AbortSignal): Promise<Means["kill"] | undefined> {
    const { prestart, groups, shims, store } = this.#options;
    const { argv, dir, env, stdin } = await prestart.ready(id, task, stop);
    const { umask } = task;
    const group = groups.make(id, limitsOf(task));
    const entrances = group === undefined ? [] : entrancesOf(group);
    this.#peaks.began(id);
    const files = store.dirsOf(id);
    const { shim, ended, ...more } = await shims.start(
      { argv, entrances, dir, env, stdin, umask, files },
      stop,
    );
    const toldEnd = ended.then(async (code) => {
      this.#tellEnd(id, await retryWhileStarved(() => this.#readEnd(id, code)));
    });
    if (shim === undefined) more.release?.(false);
    else this.#track(id, { ...more, shim, ended: toldEnd });
    return groups.means.kill;
  }

  /** This driver comes last, and takes every attempt that no other driver recognizes. */
  recover(id: string, journal: AttemptJournal): RecoveredState {
    const { store, now, isBeside = false } = this.#options;
    const dirs = store.dirsOf(id);
    const mayBegin = isUntouched(journal) && !isBeside && existsSync(dirs.root);
    if (mayBegin && store.retract(id)) return { kind: "unbegun" };
    const { shim } = readShimFile(dirs);
    // The status must be read after the check of the shim: a shim writes the status before it ends.
    const running = shim !== undefined && this.#isAtWork(id, shim);
    if (shim !== undefined) this.#track(id, { shim, ended: running ? this.#watch(id, shim) : undefined });
    if (running) return { kind: "running" };
    const end = this.#readEnd(id);
    if ("lost" in end) return { kind: "lost" };
    const agoMs = Math.max(0, Date.now() - statSync(dirs.exit).mtimeMs);
    return { kind: "ended", at: Math.max(journal.startedAt ?? 0, Math.round(now() - agoMs)), ...end };
  }

  async signal(id: string, signal: SignalName, before = () => {}): Promise<void> {
    const main = await this.#main(id);
    before();
    if (main !== undefined) sendSignal(main.pid, signal);
  }

  async kill(id: string, waitMs: Millis): Promise<KillResult> {
    const { allocs, groups, now, store } = this.#options;
    const running = this.#running.get(id);
    const markers = markersOf(id, allocs.of(id).local);
    const isMarked = (environment: string[]) => markers.every((marker) => environment.includes(marker));
    const query = { isMarked, shim: running?.shim, main: running?.main };
    const group = groups.of(id);
    if (running !== undefined && group !== undefined) this.#peaks.beforeKill(id, group);
    let killed = false;
    let left = group;
    for (const until = now() + waitMs + SHIM_END_MS; ; ) {
      // Only a scan after the end of the shim is a proof: a shim that lives may have yet to start its task.
      const isLast = running === undefined || running.isOver;
      const outcome = await killTree(query, left, waitMs, now);
      killed ||= outcome.killed;
      if (!outcome.empty) return { killed, alive: textOf(outcome.alive) };
      if (isLast) break;
      left = undefined;
      await Promise.race([running.ended, sleep(SHIM_LOOK_MS)]);
      if (now() >= until) await endShim(running);
    }
    groups.forget(id);
    if (running === undefined) {
      this.#peaks.forget(id);
      return { killed };
    }
    this.#running.delete(id);
    // Without a cgroup, what a later command of the shim uses could not be told from what this one has used.
    const isClean = group !== undefined;
    if (running.release === undefined || !isClean) disown(store.dirsOf(id).exit);
    running.release?.(isClean);
    return { killed, peaks: await this.#peaks.end(id) };
  }

  async inside(id: string): Promise<Inside | undefined> {
    const main = await this.#main(id);
    const group = this.#options.groups.of(id);
    const marks = markersOf(id, this.#options.allocs.of(id).local);
    if (main !== undefined) await this.#untilMarked(main, marks);
    return main && insideOf(main, group === undefined ? [] : entrancesOf(group), marks);
  }

  async insideKept(id: string, task: TaskSpec, stop: AbortSignal): Promise<Inside> {
    const { prestart, groups, allocs } = this.#options;
    const { before, dir, env } = await prestart.inside(id, task, stop);
    // Each time: an agent that has died may have noted a cgroup that it never made.
    const group = groups.make(id, limitsOf(task));
    const entrances = group === undefined ? [] : entrancesOf(group);
    const place = { before, entrances, dir, umask: task.umask };
    return insideAs(place, env, markersOf(id, allocs.of(id).local));
  }

  usage(ids: string[]): Record<string, RawUsage> {
    const { groups } = this.#options;
    const shimOf = (id: string) => this.#running.get(id)?.shim;
    const used = measure(new Map(ids.map((id) => [id, { group: groups.of(id), shim: shimOf(id) }])));
    void this.#peaks.sampled(used);
    return used;
  }

  /** Notes the shim of an attempt. Without `ended` its command has ended. */
  #track(id: string, { ended, ...seen }: Omit<Running, "ended" | "isOver"> & Partial<Running>): void {
    this.#running.set(id, { ...seen, ended: ended ?? Promise.resolve(), isOver: ended === undefined });
  }

  async #watch(id: string, shim: Proc): Promise<void> {
    do await sleep(ADOPTED_LOOK_MS);
    while (await retryWhileStarved(() => this.#isAtWork(id, shim)));
    this.#tellEnd(id, await retryWhileStarved(() => this.#readEnd(id)));
  }

  /** Whether a shim may still start something of an attempt. Afterwards it may wait for other commands. */
  #isAtWork(id: string, shim: Proc): boolean {
    return lives(shim) && readShimFile(this.#options.store.dirsOf(id)).status === undefined;
  }

  /** Reports the end of a command. Whoever hears of it may have its attempt killed at once. */
  #tellEnd(id: string, end: TaskEnd): void {
    const running = this.#running.get(id);
    if (running !== undefined) running.isOver = true;
    this.#options.ended(id, end);
  }

  /**
   * How the main process ended, according to its shim and its cgroup. A failed command counts as out of
   * memory if the kernel has killed any of its processes for lack of memory, whatever its exit status.
   * `code`: the exit status of the shim, if it is a child of this process.
   */
  #readEnd(id: string, code: number | null = null): TaskEnd {
    const { store, groups, shims } = this.#options;
    const end = readShimEnd(store.dirsOf(id), shims.shell.reportsSignals, code);
    const group = groups.of(id);
    const failed = "exit" in end && end.exit.code !== 0;
    if (!failed || group === undefined || outOfMemoryKills(group) === 0) return end;
    return { exit: { ...end.exit, oomKilled: true, message: "It ran out of memory." } };
  }

  /** Until it executes the command, the main process lacks the command's directory and environment. */
  async #untilMarked(main: Proc, marks: string[]): Promise<void> {
    const until = this.#options.now() + MAIN_APPEARS_MS;
    const isMarked = () => {
      const environment = environmentOf(main.pid);
      return marks.every((mark) => environment.includes(mark));
    };
    while (this.#options.now() < until && lives(main) && !isMarked()) await sleep(LOOK_MS);
  }

  async #main(id: string): Promise<Proc | undefined> {
    const { now } = this.#options;
    const running = this.#running.get(id);
    if (running?.main !== undefined) return lives(running.main) ? running.main : undefined;
    const until = now() + MAIN_APPEARS_MS;
    while (running !== undefined && now() < until && lives(running.shim)) {
      const main = childrenOf(running.shim.pid).at(0);
      if (main !== undefined) return main;
      await sleep(LOOK_MS);
    }
    return undefined;
  }
}

/** The limits of the cgroup of a task's attempts. */
function limitsOf({ resources, memoryLimitBytes = resources.memoryBytes }: TaskSpec) {
  return { vcpus: resources.vcpus, memoryBytes: memoryLimitBytes };
}

/** Kills a shim that hangs, and waits for its end. */
async function endShim({ shim, ended }: Running): Promise<void> {
  if (await retryWhileStarved(() => lives(shim))) sendSignal(shim.pid, "SIGKILL");
  await ended;
}

function textOf(pids: number[]): string {
  if (pids.length === 0) return "The kernel does not remove its cgroup, although no process is seen in it.";
  const shownPids = pids.slice(0, MAX_PIDS_NAMED).join(", ");
  const more = pids.length > MAX_PIDS_NAMED ? ` and ${pids.length - MAX_PIDS_NAMED} more` : "";
  return `SIGKILL has not ended these processes: ${shownPids}${more}`;
}
