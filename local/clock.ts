// What is Drover's time while somebody sets the clock of this machine?
import { readFileSync } from "node:fs";
import { uptime } from "node:os";
import { z } from "zod";
import { writeAtomically } from "../disk/atomic.ts";
import { tryReadJson } from "../posix/files.ts";
import { pathIn } from "./state/names.ts";

/** The smallest jump of the wall clock that is corrected. A smaller jump does not matter to any delay. */
const STEP_MS = 1_000;
/** How often the clocks are read, and how often, at least, the result is stored. */
const READ_EVERY_MS = 50;
const STORE_EVERY_MS = 60_000;
/**
 * How often the Worker is told that the clock was not set, and the pause before a failed `wake` is retried.
 */
const CONFIRM_MS = 1_000;
const RETRY_MS = 1_000;
/** Two clocks that are read within this time count as read at the same moment. */
const AT_ONCE_MS = 50;

const BOOT_ID = "/proc/sys/kernel/random/boot_id";

const Clocks = z.object({
  /** Differs from boot to boot. */
  bootId: z.string(),
  /** The time since boot, including suspends. Nobody can set it. */
  upMs: z.number(),
  wallMs: z.number(),
});
/** What the clocks show at one moment. */
export type Clocks = z.infer<typeof Clocks>;

const Reading = Clocks.extend({ aheadMs: z.number() });
/** A reading of the clocks, and how far Drover's time has been ahead of the wall clock since then. */
export type Reading = z.infer<typeof Reading>;

/**
 * The state that the next `drover up` in the state directory needs: the last reading, and how far Drover's
 * time was ahead of the wall clock when all objects were last woken, since alarms were set with that
 * difference.
 */
const Note = Reading.extend({ wokenAheadMs: z.number() });
type Note = z.infer<typeof Note>;

/**
 * The first reading of a `drover up`. Drover's time continues from the last reading. After a reboot, or on
 * the first start, it begins at the wall clock, but never before the last known time.
 */
export function firstReading(last: Reading | undefined, seen: Clocks): Reading {
  if (last === undefined) return { ...seen, aheadMs: 0 };
  if (seen.bootId === last.bootId && seen.upMs >= last.upMs) return nextReading(last, seen);
  return { ...seen, aheadMs: Math.max(0, last.wallMs + last.aheadMs - seen.wallMs) };
}

/** The next reading. Drover's time follows the time since boot: a jump of the wall clock is subtracted. */
export function nextReading(last: Reading, seen: Clocks): Reading {
  const stepMs = seen.wallMs - last.wallMs - (seen.upMs - last.upMs);
  return { ...seen, aheadMs: last.aheadMs - (Math.abs(stepMs) < STEP_MS ? 0 : Math.round(stepMs)) };
}

/** What `DroverClock.watch` calls. */
export interface ClockWatcher {
  /** Gives the Worker a new `aheadMs`, and wakes all objects. */
  wake(aheadMs: number): Promise<void>;
  /** Tells the Worker each second what the wall clock shows, while nobody sets it. */
  confirm(wallMs: number): Promise<void>;
  /** The wall clock was set by `byMs`, and all objects have been woken. */
  onSet(byMs: number, aheadMs: number): void;
  /** `wake` has failed. It is called again. */
  onFailure(error: unknown): void;
}

/**
 * Drover's time on this machine. The Worker learns how it differs from the wall clock (`objects/clock.ts`).
 */
export class DroverClock {
  readonly #file: string;
  readonly #read: () => Clocks;
  #last: Reading;
  #wokenAheadMs: number;
  #notedMs: number;

  /** Continues the time of the last `drover up` in this state directory. */
  constructor(stateDir: string, read = clockReader()) {
    this.#file = pathIn(stateDir, "clock.json");
    this.#read = read;
    const note = Note.safeParse(tryReadJson(this.#file)).data;
    this.#last = firstReading(note, read());
    this.#wokenAheadMs = note?.wokenAheadMs ?? this.#last.aheadMs;
    this.#notedMs = this.#last.upMs;
    this.#note();
  }

  /** How far Drover's time is ahead of the wall clock now. */
  aheadMs(): number {
    this.#last = nextReading(this.#last, this.#read());
    if (this.#last.upMs - this.#notedMs >= STORE_EVERY_MS) this.#note();
    return this.#last.aheadMs;
  }

  /**
   * Calls `wake` whenever `aheadMs` differs from the value that the Worker and its alarms use, and repeats
   * the call until it succeeds. Otherwise calls `confirm` each second. Returns a function that ends the
   * watch.
   */
  watch({ wake, confirm, onSet, onFailure }: ClockWatcher): () => void {
    let waking = false;
    let reportedAheadMs = this.#last.aheadMs;
    let confirmedMs = 0;
    const timer = setInterval(async () => {
      const aheadMs = this.aheadMs();
      if (waking) return;
      if (aheadMs === this.#wokenAheadMs) {
        const { upMs, wallMs } = this.#last;
        if (upMs - confirmedMs < CONFIRM_MS) return;
        confirmedMs = upMs;
        // A runtime that is being restarted gets the next call, a second later.
        return void confirm(wallMs).catch(() => {});
      }
      waking = true;
      try {
        await wake(aheadMs);
        if (aheadMs !== reportedAheadMs) onSet(reportedAheadMs - aheadMs, aheadMs);
        reportedAheadMs = aheadMs;
        this.#wokenAheadMs = aheadMs;
        this.#note();
        waking = false;
      } catch (error) {
        onFailure(error);
        setTimeout(() => {
          waking = false;
        }, RETRY_MS).unref();
      }
    }, READ_EVERY_MS).unref();
    return () => {
      clearInterval(timer);
      this.aheadMs();
      this.#note();
    };
  }

  #note(): void {
    this.#notedMs = this.#last.upMs;
    const note: Note = { ...this.#last, wokenAheadMs: this.#wokenAheadMs };
    try {
      writeAtomically(this.#file, JSON.stringify(note));
    } catch {
      // A full disk, for example. The time in the earlier file is never later than the true time.
    }
  }
}

/** Reads both clocks. Reads again if the process was suspended in between, which would look like a jump. */
function clockReader(): () => Clocks {
  const bootId = readFileSync(BOOT_ID, "utf8").trim();
  return () => {
    for (;;) {
      const before = uptime() * 1_000;
      const wallMs = Date.now();
      const upMs = uptime() * 1_000;
      if (upMs - before <= AT_ONCE_MS) return { bootId, upMs: Math.round(upMs), wallMs };
    }
  };
}
