import { readFileSync } from "node:fs";
import { uptime } from "node:os";
import { z } from "zod";
import { writeAtomically } from "../posix/files.ts";
import { pathIn } from "./state/names.ts";

/** A wall clock that moves by less against the time since boot is left alone: no delay feels that. */
const STEP_MS = 1_000;
/** How often to look, how often at least to note what was seen, and when to try again to wake. */
const LOOK_MS = 50;
const NOTE_MS = 60_000;
/** How often the Worker hears that the clock was not set. */
const CONFIRM_MS = 1_000;
const RETRY_MS = 1_000;
/** Both clocks are read at once if reading takes no longer. */
const AT_ONCE_MS = 50;

const BOOT_ID = "/proc/sys/kernel/random/boot_id";

const Clocks = z.object({
  /** Differs from boot to boot. */
  bootId: z.string(),
  /** The time since boot, which nobody sets. In a suspend it goes on. */
  upMs: z.number(),
  wallMs: z.number(),
});
/** What the clocks say at one moment. */
export type Clocks = z.infer<typeof Clocks>;

const Looked = Clocks.extend({ aheadMs: z.number() });
/** A look at the clocks, and how far Drover's time is ahead of the wall clock since then. */
export type Looked = z.infer<typeof Looked>;

/**
 * What the next `drover up` in the state directory has to know: the last look, and how far Drover's time was
 * ahead of the wall clock when all that lives was last woken, since alarms go by that.
 */
const Note = Looked.extend({ wokenAheadMs: z.number() });
type Note = z.infer<typeof Note>;

/**
 * `drover up` goes on with the time of the last one. After a reboot, or for the first time, it begins with
 * that of the wall clock, but never before the time at which the last one was.
 */
export function firstLook(last: Looked | undefined, seen: Clocks): Looked {
  if (last === undefined) return { ...seen, aheadMs: 0 };
  if (seen.bootId === last.bootId && seen.upMs >= last.upMs) return look(last, seen);
  return { ...seen, aheadMs: Math.max(0, last.wallMs + last.aheadMs - seen.wallMs) };
}

/** Drover's time goes on with the time since boot: what the wall clock is set by is taken back. */
export function look(last: Looked, seen: Clocks): Looked {
  const stepMs = seen.wallMs - last.wallMs - (seen.upMs - last.upMs);
  return { ...seen, aheadMs: last.aheadMs - (Math.abs(stepMs) < STEP_MS ? 0 : Math.round(stepMs)) };
}

/** What a watch over the clock calls. */
export interface ClockWatcher {
  wake(aheadMs: number): Promise<void>;
  confirm(wallMs: number): Promise<void>;
  tell(byMs: number, aheadMs: number): void;
  failed(error: unknown): void;
}

/** Drover's time on this machine. The Worker is told how it differs from the clock (`objects/clock.ts`). */
export class DroverClock {
  readonly #file: string;
  readonly #read: () => Clocks;
  #last: Looked;
  #wokenAheadMs: number;
  #notedMs: number;

  /** Goes on with the time of the last `drover up` in this state directory. */
  constructor(stateDir: string, read = clockReader()) {
    this.#file = pathIn(stateDir, "clock.json");
    this.#read = read;
    const note = readNote(this.#file);
    this.#last = firstLook(note, read());
    this.#wokenAheadMs = note?.wokenAheadMs ?? this.#last.aheadMs;
    this.#notedMs = this.#last.upMs;
    this.#note();
  }

  /** How far it is ahead of the wall clock at this moment. */
  aheadMs(): number {
    this.#last = look(this.#last, this.#read());
    if (this.#last.upMs - this.#notedMs >= NOTE_MS) this.#note();
    return this.#last.aheadMs;
  }

  /**
   * Calls `wake` whenever the Worker and its alarms go by another correction than that of now, again and
   * again until it has been done. Otherwise calls `confirm` each second with what the wall clock shows.
   * `tell` hears by how much the wall clock was set, `failed` what has gone wrong. Returns what ends that.
   */
  watch({ wake, confirm, tell, failed }: ClockWatcher): () => void {
    let waking = false;
    let toldAheadMs = this.#last.aheadMs;
    let confirmedMs = 0;
    const timer = setInterval(async () => {
      const aheadMs = this.aheadMs();
      if (waking) return;
      if (aheadMs === this.#wokenAheadMs) {
        const { upMs, wallMs } = this.#last;
        if (upMs - confirmedMs < CONFIRM_MS) return;
        confirmedMs = upMs;
        // A runtime that is away, or being started again, hears it in the next second.
        return void confirm(wallMs).catch(() => {});
      }
      waking = true;
      try {
        await wake(aheadMs);
        if (aheadMs !== toldAheadMs) tell(toldAheadMs - aheadMs, aheadMs);
        toldAheadMs = aheadMs;
        this.#wokenAheadMs = aheadMs;
        this.#note();
        waking = false;
      } catch (error) {
        failed(error);
        setTimeout(() => {
          waking = false;
        }, RETRY_MS).unref();
      }
    }, LOOK_MS).unref();
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
      // A full disk, for example. What was noted before is no later than the truth.
    }
  }
}

/** A process that is stopped between two readings would see a step where there is none: it reads again. */
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

/** Undefined if there is none, or none that can be read. */
function readNote(file: string): Note | undefined {
  try {
    return Note.safeParse(JSON.parse(readFileSync(file, "utf8"))).data;
  } catch {
    return undefined;
  }
}
