// What does the view of both streams have in memory, and what is read next (ui.md#both)?
import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { isTemporary } from "../../api/temporary.ts";
import {
  bounded,
  documentBytes,
  type LogDocument,
  newDocument,
  withAttempt,
  withBytes,
} from "../bytes/document.ts";
import type { Position } from "../bytes/position.ts";
import { MAX_WINDOW_BYTES } from "../bytes/window.ts";
import { Standing } from "../pane/standing.ts";
import type { PaneStatus } from "../pane/status.ts";
import { attemptToShow, type Following } from "../read/next-attempt.ts";
import { pauseIn } from "../read/pause.ts";
import type { Anchor } from "../scroll.ts";
import { LineMerge, type Offsets, type StreamLine } from "./merge.ts";
import { lineIndexAt, type MergedLine, mergedText } from "./merged-text.ts";
import { type BothName, readStep, type Step, startOfEnds } from "./read-both.ts";

/** A step costs up to three requests, so there are two in a second at most, however fast the output grows. */
const STEP_MS = 500;
const BEGINNING: Offsets = { stdout: 0, stderr: 0 };

/** What the view has to say of its order. */
export interface Limits {
  /** Whether the beginning of a stream is left out. */
  isCut: boolean;
  /** Whether it is not known when some of the output arrived. */
  isUnstamped: boolean;
  /** Whether the agent did not look for a while, so that some times are too late. */
  hasGap: boolean;
}

/** The ends of both streams of one attempt as one text, and the attempts that follow while somebody looks. */
export class BothPane {
  readonly document: Signal<LogDocument>;
  readonly position: Signal<Position>;
  readonly newRows: ReadonlySignal<number | undefined>;
  readonly status: Signal<PaneStatus> = signal({ is: "opening" });
  readonly limits: Signal<Limits> = signal({ isCut: false, isUnstamped: false, hasGap: false });
  /** The rows that are drawn. */
  drawn = { from: 0, to: 0 };

  readonly #name: BothName;
  readonly #following: Following;
  readonly #standing: Standing;
  #reading = new AbortController();
  /** Whether the attempt has ended, and another one may come. */
  #awaitsNext = false;
  /** The attempt that is read, and where it goes on. Undefined: that is not known yet. */
  #attempt: string;
  #next: Offsets | undefined;
  #merge = new LineMerge(BEGINNING);
  /** The text of lines that have ended. Those that have not are added anew each time. */
  #ended: LogDocument;
  readonly #lines = new Map<string, MergedLine[]>();
  #unended: MergedLine[] = [];

  constructor(name: BothName, following: Following) {
    this.#name = name;
    this.#following = following;
    this.#attempt = name.attempt;
    this.#ended = newDocument(name.attempt);
    this.document = signal(this.#ended);
    this.#standing = new Standing(this.document);
    this.position = this.#standing.position;
    this.newRows = this.#standing.newRows;
  }

  /** Reads, from where it stopped on, until no more can come. */
  open(): void {
    this.close();
    this.#reading = new AbortController();
    const { signal } = this.#reading;
    this.#read(signal).catch((error) => {
      if (!signal.aborted) this.status.value = { is: "failed", error };
    });
  }

  /** Ends all reading. */
  close(): void {
    this.#awaitsNext = false;
    this.#reading.abort();
  }

  /** Stops reading while nobody can see it (ui.md#d13). */
  pause(): void {
    const { is } = this.status.peek();
    if ((is === "ended" && !this.#awaitsNext) || is === "failed") return;
    this.close();
    this.status.value = { is: "paused" };
  }

  /** Goes on at the exact bytes after a pause. */
  unpause(): void {
    if (this.status.peek().is === "paused") this.open();
  }

  /** The line of a row of the text. */
  lineAt(attempt: string, offset: number): MergedLine | undefined {
    const ended = this.#lines.get(attempt) ?? [];
    const lines = attempt === this.#attempt ? [...ended.slice(-1), ...this.#unended] : ended.slice(-1);
    const isLate = offset >= (lines[0]?.begin ?? 0);
    return isLate ? lines[lineIndexAt(lines, offset)] : ended[lineIndexAt(ended, offset)];
  }

  /** Follows: the end stays in view, whatever comes. */
  toEnd(): void {
    this.#standing.toEnd();
  }

  /** The reader has scrolled to the end. */
  reachedEnd(): void {
    this.toEnd();
  }

  /** Stays at a place (ui.md#d2). */
  moveTo(anchor: Anchor): void {
    this.#standing.moveTo(anchor);
  }

  /** Nothing earlier is read: the single streams have it. */
  loadEarlier(): void {}

  /** What follows comes by itself. */
  loadLater(): void {}

  async #read(signal: AbortSignal): Promise<void> {
    for (let next: string | undefined = this.#attempt; next !== undefined; ) {
      await this.#readAttempt(signal);
      signal.throwIfAborted();
      this.status.value = { is: "ended" };
      this.#awaitsNext = true;
      next = await attemptToShow({ ...this.#name, last: this.#attempt }, this.#following, signal);
      signal.throwIfAborted();
      this.#awaitsNext = false;
      if (next !== undefined) this.#begin(next);
    }
  }

  #begin(attempt: string): void {
    // What had not ended will not end any more.
    this.#remember(this.#unended);
    this.#attempt = attempt;
    this.#next = BEGINNING;
    this.#merge = new LineMerge(BEGINNING);
    this.#ended = withAttempt(this.document.peek(), attempt);
    this.#unended = [];
    this.document.value = this.#ended;
  }

  /** Reads step by step. A step that breaks begins again, so no byte is doubled or missing (ui.md#d5). */
  async #readAttempt(signal: AbortSignal): Promise<void> {
    let waits = false;
    for (let failures = 0; ; ) {
      const pause = new Promise((done) => setTimeout(done, STEP_MS));
      try {
        const step = await this.#step(waits, signal);
        signal.throwIfAborted();
        this.#take(step);
        failures = 0;
        if (step.isLast) return;
        this.status.value = { is: "live" };
        waits = !step.hasMore;
      } catch (error) {
        signal.throwIfAborted();
        if (!isTemporary(error)) throw error;
        failures += 1;
        this.status.value = { is: "resuming", at: undefined, error };
        await pauseIn(signal)(failures);
      }
      if (waits) await pause;
      await this.#room(signal);
      signal.throwIfAborted();
    }
  }

  async #step(waits: boolean, signal: AbortSignal): Promise<Step> {
    const name = { ...this.#name, attempt: this.#attempt };
    if (this.#next === undefined) {
      const start = await startOfEnds(name, signal);
      signal.throwIfAborted();
      this.#next = start;
      this.#merge = new LineMerge(start);
      this.limits.value = { ...this.limits.peek(), isCut: start.stdout > 0 || start.stderr > 0 };
    }
    return await readStep(name, this.#next, { waits }, signal);
  }

  #take({ arrivals, next }: Step): void {
    this.#next = next;
    const lines = arrivals.flatMap(({ arrival, bytes }) => this.#merge.take(arrival, bytes));
    this.#noteDoubts(arrivals);
    const ended = this.#added(this.#ended, lines);
    this.#remember(ended.lines);
    const isFollowing = this.position.peek().is === "end";
    this.#ended = isFollowing ? bounded(ended.document, "start") : ended.document;
    this.#forget();
    const whole = this.#added(this.#ended, this.#merge.unended());
    this.#unended = whole.lines;
    this.document.value = whole.document;
  }

  #noteDoubts(arrivals: Step["arrivals"]): void {
    const { isCut, ...limits } = this.limits.peek();
    const isUnstamped = limits.isUnstamped || arrivals.some(({ arrival }) => arrival.at === null);
    const hasGap =
      limits.hasGap || arrivals.some(({ arrival: { at, after } }) => at !== null && after !== null);
    this.limits.value = { isCut, isUnstamped, hasGap };
  }

  #remember(lines: readonly MergedLine[]): void {
    this.#lines.set(this.#attempt, [...(this.#lines.get(this.#attempt) ?? []), ...lines]);
  }

  #added(document: LogDocument, lines: readonly StreamLine[]) {
    const end = document.sections.at(-1)?.window.to ?? 0;
    const text = mergedText(lines, end);
    return { document: withBytes(document, this.#attempt, end, text.bytes), lines: text.lines };
  }

  /** Forgets the lines whose text has been dropped. */
  #forget(): void {
    const shown = new Map(this.#ended.sections.map(({ attempt, window }) => [attempt, window.from]));
    for (const [attempt, lines] of this.#lines) {
      const from = shown.get(attempt);
      if (from === undefined) this.#lines.delete(attempt);
      else if (from > 0) this.#lines.set(attempt, lines.slice(Math.max(0, lineIndexAt(lines, from))));
    }
  }

  /** Resolves once there is room: what somebody reads must not go away, so the rest waits (ui.md#d6). */
  async #room(signal: AbortSignal): Promise<void> {
    if (documentBytes(this.document.peek()) <= MAX_WINDOW_BYTES) return;
    let stop = () => {};
    await new Promise<void>((done) => {
      stop = this.position.subscribe(({ is }) => {
        if (is === "end") done();
      });
      signal.addEventListener("abort", () => done(), { once: true });
    });
    stop();
  }
}
