// How is a container followed from its start to its end (containers.md#watch)?
import { statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type Group, membersOf } from "../../posix/cgroup.ts";
import { tryReadText } from "../../posix/files.ts";
import { lives, type ProcId } from "../../posix/proc.ts";
import type { StartError } from "../../src/schema/host.ts";
import type { Instant, Millis } from "../../src/shared/machine.ts";
import { LOCALHOST, type TaskEnd } from "../drivers/driver.ts";
import type { Engine } from "../engine/engine.ts";
import { EngineError } from "../engine/errors.ts";
import type { ContainerFacts } from "../engine/types.ts";
import type { AttemptDirs } from "../exec/processes/dirs.ts";
import { outOfMemoryKills } from "../exec/processes/group.ts";
import { kernelCountsOf } from "../exec/processes/usage.ts";
import { endOf, initFaultOf, MAX_INIT_TEXT_BYTES, type MemorySeen } from "./ends.ts";
import { copyOutput } from "./output/copy.ts";
import { logSourceOf, type Rest } from "./output/log-source.ts";
import { BRIEF_MS, within } from "./patience.ts";

/** How often to look at the first process: often while it is young, as its end is waited for. */
const LOOKS = { firstMs: 10, longestMs: 250, part: 20 };
/**
 * The same at most, if the engine does not say that memory has run out: a moment after the first process has
 * ended, the kernel's counters go with the cgroup.
 */
const SOON_MS: Millis = 25;
/** How often to look at the memory of what lives. */
const MEMORY_MS: Millis = 100;
/** How long to wait before an engine that does not answer is asked again. */
const AGAIN_MS: Millis = 500;
/** How long an engine may be silent about a container whose processes have ended. */
const PATIENCE_MS: Millis = 5 * 60_000;
/** How long an engine may say that a container runs whose first process has ended: it has not noticed. */
const UNNOTICED_MS: Millis = 15_000;
/** How long the output of a container that has ended may stand still before all of it is there. */
const OUTPUT_MS: Millis = 60_000;
/** How long an engine may go on to follow the output of a container that has ended. */
const FOLLOW_MS: Millis = 2_000;
/** How long a container whose start was asked for may be seen as one that has not begun. */
const BEGIN_MS: Millis = 8_000;
/** The same, if the engine was away since: what was asked of it before is forgotten. */
const RESTARTED_MS: Millis = 2_000;

export interface WatchingOptions {
  engine: Engine;
  name: string;
  dirs: AttemptDirs;
  /** The command, for texts. Empty: it is the image's, or not known any more. */
  argv: readonly string[];
  /** The limit of the container's memory; 0: none. */
  limitBytes: number;
  /** Whether the engine was away already, as it was asked to start the container. */
  wasEngineDown: boolean;
  now: () => Instant;
  /** What an earlier start of the agent has found, so that nothing depends on an engine that is away. */
  known: Found;
  /** Whether its output is copied: another agent may do that. */
  copies: boolean;
  /** The first process and the cgroup of the container, by its pid as the engine says it and by its id. */
  find: (pid: number, container: string) => Found;
  /** The pids of all living processes of the attempt, by their environment. */
  strays: () => number[];
  /** Called once. */
  ended: (end: TaskEnd) => void;
}

/** What of a container can be reached without its engine. */
export interface Found {
  main: ProcId | undefined;
  group: Group | undefined;
}

/**
 * Follows one container: its output, its memory, and its end. Everything is derived from what the engine and
 * the kernel say at a look, so an engine that goes away and comes back is only asked again.
 */
export class Watching {
  /** Settles when the end was told. */
  readonly ended: Promise<void>;
  readonly #options: WatchingOptions;
  readonly #stop = new AbortController();
  /** Ends what waits for more output. */
  readonly #unfollow = new AbortController();
  readonly #memory: MemorySeen;
  #settle: () => void = () => undefined;
  #main: ProcId | undefined;
  #group: Group | undefined;
  /** The engine has said where it is. */
  #isSeen = false;
  /** What the engine has said of its end. */
  #facts: ContainerFacts | undefined;
  /** When its memory was looked at. */
  #memoryAt: Instant = 0;
  /** The engine says nothing of a lack of memory. */
  #isSilent = false;
  #address: string | null = null;
  #wasEngineDown: boolean;
  /** What of its output can still come. */
  #rest: Rest = "all";
  #isOver = false;

  constructor(options: WatchingOptions) {
    this.#options = options;
    this.#wasEngineDown = options.wasEngineDown;
    this.#memory = { kills: 0, peakBytes: 0, limitBytes: options.limitBytes };
    this.#main = options.known.main;
    this.#group = options.known.group;
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  /** The end was told. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The first process, if it was ever seen. */
  get knownMain(): ProcId | undefined {
    return this.#main;
  }

  /** The first process was seen, and does not live any more. */
  get isMainDead(): boolean {
    return this.#main !== undefined && !lives(this.#main);
  }

  /** Where its ports are, as it was when it was seen first; null: it has no network, or was never seen. */
  get address(): string | null {
    return this.#address;
  }

  /** The first process, if it lives; looked for if it has not been seen yet, but not for long. */
  async main(): Promise<ProcId | undefined> {
    if (!this.#isSeen && !this.#isOver) await this.#lookBriefly();
    return this.#main !== undefined && lives(this.#main) ? this.#main : undefined;
  }

  /** Begins. Resolves after the first look, or if that takes long. Output is copied from then on. */
  async begin(): Promise<void> {
    await this.#lookBriefly();
    void this.#follow();
  }

  /** Resolves once the end was told, or when no output has come for so long. */
  async told(ms: Millis): Promise<void> {
    for (let before = this.#outputBytes(); !this.#isOver; ) {
      await within(ms, this.ended);
      const now = this.#outputBytes();
      if (now === before) return;
      before = now;
    }
  }

  /** Nobody waits any more: if the end is not known by now, it is lost. */
  giveUp(): void {
    this.#stop.abort();
    this.#tell(this.#facts === undefined ? { lost: true } : this.#endOf(this.#facts.state, false));
  }

  /** Not all of the input has arrived: the command cannot do what it was asked for, and is to be killed. */
  cutInput(): void {
    this.#tell({ startError: INPUT_CUT });
  }

  async #follow(): Promise<void> {
    const output = this.#options.copies ? this.#copy() : Promise.resolve(true);
    try {
      this.#facts = await this.#untilEnded();
      // The helper of one that was left unbegun lives on, and never closes the file of its output.
      this.#rest = this.#facts !== undefined && isUnbegun(this.#facts.state) ? "none" : "ended";
      const isWhole = await this.#untilCopied(output);
      this.#tell(this.#facts === undefined ? { lost: true } : this.#endOf(this.#facts.state, isWhole));
    } catch {
      this.giveUp();
    } finally {
      this.#stop.abort();
    }
  }

  /** Waits for the rest of the output. False: it stands still, and some of it is missing. */
  async #untilCopied(output: Promise<boolean>): Promise<boolean> {
    const unfollow = setTimeout(() => this.#unfollow.abort(), FOLLOW_MS).unref();
    try {
      for (let before = -1; ; ) {
        const isWhole = await Promise.race([output, this.#pause(OUTPUT_MS)]);
        if (isWhole !== undefined) return isWhole;
        const now = this.#outputBytes();
        if (now === before) return false;
        before = now;
      }
    } finally {
      clearTimeout(unfollow);
    }
  }

  get #hasBegun(): boolean {
    return this.#main !== undefined || this.#outputBytes() > 0;
  }

  #outputBytes(): number {
    const { dirs } = this.#options;
    return sizeOf(dirs.stdout) + sizeOf(dirs.stderr);
  }

  #endOf(state: ContainerFacts["state"], isWhole: boolean): TaskEnd {
    const { dirs, argv } = this.#options;
    if (isUnbegun(state)) {
      // Podman notes that it begins before it does. What others note proves nothing: an engine that was
      // killed as it started the container does not know that it runs.
      const hasNotBegun = state.status === "created" && this.#isSilent && !this.#hasBegun;
      return hasNotBegun ? { startError: NEVER_BEGUN } : { lost: true };
    }
    const startError = initFaultOf(state.exitCode, shortText(dirs.stderr), argv);
    if (startError !== undefined) return { startError };
    const end = endOf(state, this.#memory, this.#wasEngineDown);
    if (isWhole || !("exit" in end)) return end;
    const message =
      `${end.exit.message ?? ""} The container engine did not give out all of its output.`.trim();
    return { exit: { ...end.exit, message } };
  }

  #tell(end: TaskEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.ended(end);
    this.#settle();
  }

  /** What the engine says of the container once it has ended; undefined: it is gone, or nobody will know. */
  async #untilEnded(): Promise<ContainerFacts | undefined> {
    const { now } = this.#options;
    let since = now();
    let wasAlive = true;
    let deadSince: Instant | undefined;
    let createdSince: Instant | undefined;
    for (;;) {
      const longestMs = this.#isSilent ? SOON_MS : LOOKS.longestMs;
      const pauseMs = Math.min(longestMs, Math.max(LOOKS.firstMs, (now() - since) / LOOKS.part));
      try {
        if (this.#main !== undefined && lives(this.#main)) {
          if (!this.#isSeen) await this.#look();
          if (now() - this.#memoryAt >= MEMORY_MS) this.#seeMemory();
          await this.#pause(pauseMs);
          continue;
        }
        if (wasAlive) this.#seeMemory();
        // Its first process has ended: from now on its end is near.
        const isDead = this.#isDead();
        if (isDead && wasAlive) since = now();
        wasAlive = !isDead;
        const facts = await this.#look();
        if (facts !== undefined && isUnbegun(facts.state)) {
          this.#findStray(facts);
          createdSince ??= now();
          const patienceMs = this.#wasEngineDown ? RESTARTED_MS : BEGIN_MS;
          if (this.#main === undefined && now() - createdSince > patienceMs) return facts;
        } else if (facts === undefined || isEnded(facts)) return facts;
        // What watches it for the engine was killed, and nobody else has seen the exit.
        if (isDead && now() - since > UNNOTICED_MS) return undefined;
        await this.#pause(pauseMs);
      } catch (error) {
        if (this.#stop.signal.aborted) throw error;
        // Too few open files, or a full disk, say nothing of the container.
        if (error instanceof EngineError) this.#wasEngineDown = true;
        createdSince = undefined;
        if (!wasAlive) deadSince ??= now();
        if (deadSince !== undefined && now() - deadSince > PATIENCE_MS) return undefined;
        await this.#pause(AGAIN_MS);
      }
    }
  }

  /** An engine that was killed as it started a container may not know that it runs. */
  #findStray({ id }: ContainerFacts): void {
    const pid = this.#main === undefined ? this.#options.strays()[0] : undefined;
    if (pid === undefined) return;
    const { main, group } = this.#options.find(pid, id);
    this.#main = main;
    this.#group = group;
  }

  /** Nothing of it lives any more, whatever the engine says. False if this agent cannot know. */
  #isDead(): boolean {
    if (this.#main !== undefined) return this.isMainDead;
    return this.#group !== undefined && membersOf(this.#group).length === 0;
  }

  async #lookBriefly(): Promise<void> {
    await within(
      BRIEF_MS,
      this.#look().catch(() => undefined),
    );
  }

  /** Asks the engine, and finds the container's first process. */
  async #look(): Promise<ContainerFacts | undefined> {
    const { engine, name, find } = this.#options;
    const facts = await engine.inspectContainer(name);
    this.#isSilent = (await engine.open()).engine === "podman";
    if (facts === undefined || !facts.state.running || this.#isSeen) return facts;
    this.#address = facts.networkMode === "host" ? LOCALHOST : facts.address || null;
    const { main, group } = find(facts.state.pid, facts.id);
    this.#main ??= main;
    this.#group = group ?? this.#group;
    this.#isSeen = this.#main !== undefined;
    this.#seeMemory();
    return facts;
  }

  /** The counters go with the cgroup, and that goes with the container. */
  #seeMemory(): void {
    if (this.#group === undefined) return;
    this.#memoryAt = this.#options.now();
    const { peakBytes = 0, memoryBytes = 0 } = kernelCountsOf(this.#group);
    this.#memory.kills = Math.max(this.#memory.kills, outOfMemoryKills(this.#group));
    this.#memory.peakBytes = Math.max(this.#memory.peakBytes, peakBytes, memoryBytes);
  }

  /**
   * Copies the output until all of it is there, however often the engine breaks off. False: its container is
   * gone before.
   */
  async #copy(): Promise<boolean> {
    const { engine, name, dirs } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        const facts = await engine.inspectContainer(name);
        if (facts === undefined) return false;
        const signals = { signal, unfollow: this.#unfollow.signal };
        const { frames, isWhole } = logSourceOf(engine, facts, () => this.#rest, signals);
        await copyOutput(frames, dirs, signal);
        if (isWhole) return true;
      } catch (error) {
        if (error instanceof EngineError && error.kind === "not_found") return false;
      }
      // What was followed to its end is read again at once, as all of it is there now.
      if (this.#rest === "all") await this.#pause(AGAIN_MS).catch(() => undefined);
      else await this.#pause(LOOKS.firstMs).catch(() => undefined);
    }
    return false;
  }

  #pause(ms: Millis): Promise<void> {
    return sleep(ms, undefined, { signal: this.#stop.signal, ref: false });
  }
}

/** The engine was asked to start it, and has not. */
const NEVER_BEGUN: StartError = {
  code: "engine_failed",
  text: "The container engine was asked to start the command, and was gone before it did.",
  recoverable: true,
};

/** The connection to the input has ended before all of it was passed on. */
const INPUT_CUT: StartError = {
  code: "engine_failed",
  text: "The container engine was gone before all of the standard input was passed on.",
  recoverable: true,
};

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** The text of a file that is short; empty: it is longer, or not there. */
function shortText(path: string): string {
  return sizeOf(path) > MAX_INIT_TEXT_BYTES ? "" : (tryReadText(path) ?? "");
}

function isUnbegun({ status }: ContainerFacts["state"]): boolean {
  return status === "created" || status === "starting";
}

/** Only these words say that the exit code is known: podman says 0 of a container that is being stopped. */
function isEnded({ state: { status } }: ContainerFacts): boolean {
  return status === "exited" || status === "dead";
}
