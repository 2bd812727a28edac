import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Instant } from "../../src/core/machine.ts";
import type { SignalName } from "../../src/schema/run.ts";
import type { FakeScript } from "../../src/schema/task.ts";
import { type FakeAttempt, fakeEndsAt, fakeExit, fakeSignaled } from "../core/fake.ts";
import type { HostEvent } from "../core/types.ts";
import { readIfThere, replaceFile } from "../files.ts";
import type { AttemptStore } from "./dirs.ts";

/** The longest delay that a timer of Node takes; what lasts longer is looked at again then. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface FakeDriverOptions {
  store: AttemptStore;
  now: () => Instant;
  tell: (event: HostEvent) => void;
  /** The streams of this attempt may grow from now on. */
  looks: (id: string) => void;
}

/**
 * Plays what the script of a task says, without a process: as the supervisor does with real ones, each call
 * resolves with what came of it. When and how it ends is decided in `core/fake.ts`.
 */
export class FakeDriver {
  readonly #options: FakeDriverOptions;
  readonly #blocked = new Map<string, AbortController>();
  readonly #playing = new Map<string, { fake: FakeAttempt; timer: NodeJS.Timeout | undefined }>();

  constructor(options: FakeDriverOptions) {
    this.#options = options;
  }

  /** Whether an attempt is one of these, and has not ended. */
  has(id: string): boolean {
    return this.#playing.has(id);
  }

  /** Starts an attempt, once: `launched`, `launch_failed` or `refused`. */
  async start(id: string, script: FakeScript): Promise<HostEvent> {
    const { store, now, looks } = this.#options;
    if (!store.claim(id)) return { type: "refused", id };
    if (!(await this.#unblocked(id, script.blockStartMs))) return { type: "refused", id };
    const { startError } = script;
    if (startError !== undefined) {
      return { type: "launch_failed", id, startError: { code: "start_failed", ...startError } };
    }
    const { stdout, stderr } = store.dirsOf(id);
    writeFileSync(stderr, "");
    for (const line of script.output) appendFileSync(stdout, `${line}\n`);
    looks(id);
    const fake = { script, startedAt: now() };
    this.#keep(id, fake);
    this.#play(id, fake);
    return { type: "launched", id, by: "processes" };
  }

  /** Whoever is to be killed does not go on to start. */
  unblock(id: string): void {
    this.#blocked.get(id)?.abort();
  }

  async #unblocked(id: string, blockMs: number): Promise<boolean> {
    const blocked = new AbortController();
    this.#blocked.set(id, blocked);
    try {
      if (blockMs > 0)
        await sleep(Math.min(blockMs, LONGEST_TIMER_MS), undefined, { signal: blocked.signal });
    } catch {
      // It is being killed.
    }
    this.#blocked.delete(id);
    return !blocked.signal.aborted;
  }

  /** Takes on an attempt of an earlier start of the agent, if it is one of these and goes on. */
  adopt(id: string): void {
    const fake = readFake(this.#options.store.dirsOf(id).root);
    const over = fake === undefined || fake.script.dieWithAgent || this.#options.now() >= fakeEndsAt(fake);
    if (!over) this.#play(id, fake);
  }

  signal(id: string, signal: SignalName): void {
    const playing = this.#playing.get(id);
    if (playing === undefined) return;
    const fake = fakeSignaled(playing.fake, signal, this.#options.now());
    if (fake === playing.fake) return;
    this.#keep(id, fake);
    this.#play(id, fake);
  }

  /** Ends it at once: `tree_gone`. Undefined if it is none of these, or has ended: nothing need be killed. */
  killTree(id: string): HostEvent | undefined {
    if (!this.has(id)) return undefined;
    this.signal(id, "SIGKILL");
    this.#end(id);
    return { type: "tree_gone", id, killed: true };
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
    this.#options.tell({ type: "exited", id, exit: fakeExit(playing.fake) });
  }

  #keep(id: string, fake: FakeAttempt): void {
    replaceFile(fileIn(this.#options.store.dirsOf(id).root), JSON.stringify(fake));
  }
}

/** What was kept of an attempt of the fake driver; undefined if it is none. */
export function readFake(root: string): FakeAttempt | undefined {
  const text = readIfThere(fileIn(root));
  // The file is the agent's own, and is written whole: what parses is what was written.
  return text === undefined ? undefined : (JSON.parse(text) as FakeAttempt);
}

function fileIn(root: string): string {
  return join(root, "fake.json");
}
