// How are tasks simulated by a script, without processes?
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { replaceFile } from "../../disk/atomic.ts";
import { readIfThere } from "../../posix/files.ts";
import type { Means } from "../../src/schema/host.ts";
import type { SignalName, TaskSpec } from "../../src/schema/run/run.ts";
import type { Instant } from "../../src/shared/machine.ts";
import {
  type FakeAttempt,
  fakeEndsAt,
  fakeExit,
  fakeOrphaned,
  fakeSignaled,
  foundFake,
} from "../core/attempts/fake.ts";
import { LONGEST_TIMER_MS } from "../core/bounds.ts";
import type { RawUsage } from "../core/types.ts";
import type { AttemptStore } from "../exec/processes/dirs.ts";
import { StartFault } from "../exec/start-fault.ts";
import type { Driver, KillResult, OnTaskEnd, RecoveredState } from "./driver.ts";

const NO_USAGE: RawUsage = { cpuMs: 0, memoryBytes: 0, pids: 0 };

export interface FakeDriverOptions {
  store: AttemptStore;
  now: () => Instant;
  ended: OnTaskEnd;
}

/** Plays the script of a task. `core/attempts/fake.ts` decides how the task ends. */
export class FakeDriver implements Driver {
  readonly #options: FakeDriverOptions;
  readonly #playing = new Map<string, { fake: FakeAttempt; timer: NodeJS.Timeout }>();

  constructor(options: FakeDriverOptions) {
    this.#options = options;
  }

  async start(id: string, { fake: script }: TaskSpec, stop: AbortSignal): Promise<Means["kill"] | undefined> {
    if (script === undefined) throw new StartFault("start_failed", "The task has no script to play.");
    const { store, now } = this.#options;
    if (script.blockStartMs > 0) await aborted(stop, script.blockStartMs);
    if (stop.aborted) return undefined;
    const { startError } = script;
    if (startError !== undefined) {
      const { code = "start_failed", text, recoverable } = startError;
      throw new StartFault(code, text, { recoverable });
    }
    const { stdout, stderr } = store.dirsOf(id);
    writeFileSync(stderr, "");
    for (const line of script.output) appendFileSync(stdout, `${line}\n`);
    const fake = { script, startedAt: now() };
    this.#keep(id, fake);
    this.#play(id, fake);
    return "processes";
  }

  recover(id: string): RecoveredState | undefined {
    const stored = readFake(this.#options.store.dirsOf(id).root);
    if (stored === undefined) return undefined;
    const now = this.#options.now();
    const fake = fakeOrphaned(stored, now);
    if (fake !== stored) this.#keep(id, fake);
    const main = foundFake(fake, now);
    if (main.kind === "running") this.#play(id, fake);
    return main;
  }

  async signal(id: string, signal: SignalName, before = () => {}): Promise<void> {
    before();
    this.#signal(id, signal);
  }

  async kill(id: string): Promise<KillResult> {
    const killed = this.#playing.has(id);
    this.#signal(id, "SIGKILL");
    this.#end(id);
    return { killed };
  }

  /** Nothing runs, so nothing can run beside it. */
  async inside(): Promise<undefined> {
    return undefined;
  }

  async insideKept(): Promise<undefined> {
    return undefined;
  }

  usage(ids: string[]): Record<string, RawUsage> {
    return Object.fromEntries(ids.map((id) => [id, NO_USAGE]));
  }

  #signal(id: string, signal: SignalName): void {
    const playing = this.#playing.get(id);
    if (playing === undefined) return;
    const fake = fakeSignaled(playing.fake, signal, this.#options.now());
    if (fake === playing.fake) return;
    this.#keep(id, fake);
    this.#play(id, fake);
  }

  #play(id: string, fake: FakeAttempt): void {
    clearTimeout(this.#playing.get(id)?.timer);
    const leftMs = Math.max(0, fakeEndsAt(fake) - this.#options.now());
    const look = () => (leftMs > LONGEST_TIMER_MS ? this.#play(id, fake) : this.#end(id));
    this.#playing.set(id, { fake, timer: setTimeout(look, Math.min(leftMs, LONGEST_TIMER_MS)) });
  }

  #end(id: string): void {
    const playing = this.#playing.get(id);
    if (playing === undefined) return;
    clearTimeout(playing.timer);
    this.#playing.delete(id);
    this.#options.ended(id, { exit: fakeExit(playing.fake) });
  }

  #keep(id: string, fake: FakeAttempt): void {
    replaceFile(fileIn(this.#options.store.dirsOf(id).root), JSON.stringify(fake));
  }
}

/** Waits until the signal is aborted, but not longer than `withinMs`. */
async function aborted(signal: AbortSignal, withinMs: number): Promise<void> {
  await sleep(Math.min(withinMs, LONGEST_TIMER_MS), undefined, { signal }).catch(() => undefined);
}

/** The stored state of an attempt; undefined if the fake driver has not started it. */
function readFake(root: string): FakeAttempt | undefined {
  const text = readIfThere(fileIn(root));
  // The file is the agent's own and is written atomically, so its content has the right type.
  return text === undefined ? undefined : (JSON.parse(text) as FakeAttempt);
}

function fileIn(root: string): string {
  return join(root, "fake.json");
}
