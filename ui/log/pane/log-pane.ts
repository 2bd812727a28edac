// What does a view of output have in memory, what is in view, and what is read next?
import { computed, type Signal, signal } from "@preact/signals";
import { backOffMs, spread } from "../../../src/shared/time/backoff.ts";
import { BLOCK_BYTES, blockStart } from "../bytes/block.ts";
import {
  type BytePlace,
  bounded,
  documentBytes,
  type LogDocument,
  newDocument,
  rowAtPlace,
  type Section,
  withAttempt,
  withBytes,
  withWindow,
} from "../bytes/document.ts";
import { lineFinder } from "../bytes/line-finder.ts";
import { type Position, positionOf, rowsAfter } from "../bytes/position.ts";
import { MAX_WINDOW_BYTES, prepend } from "../bytes/window.ts";
import { type LogName, opener } from "../read/log-call.ts";
import { type LogNews, type LogSpan, readLog } from "../read/log-reading.ts";
import { nextAttempt } from "../read/next-attempt.ts";
import { sharing } from "../read/sharing.ts";
import { type Anchor, ROW_PX } from "../scroll.ts";
import { Arrivals, joined } from "./arrivals.ts";
import { PaneFolds } from "./pane-folds.ts";
import type { PaneStatus } from "./status.ts";

/** How much of the end is read first (ui.md#d6). */
const TAIL_BYTES = 256 * 1024;
/** How much is read when somebody scrolls to where nothing has been read. */
const STEP_BYTES = 1024 * 1024;
/** How much is read before and after a place that a link names. */
const AROUND_BYTES = 64 * 1024;
/** Where such a place stands in the view. */
const PLACE_PX = 5 * ROW_PX;
const DELAYS = { firstMs: 1_000, longestMs: 30_000 };

/** The output of one task and stream: one attempt, and those that follow while somebody looks. */
export class LogPane {
  readonly document: Signal<LogDocument>;
  readonly position: Signal<Position> = signal({ is: "end" });
  readonly status: Signal<PaneStatus> = signal({ is: "opening" });
  /** Why the view does not show what its address names. */
  readonly note: Signal<string> = signal("");
  /** How many rows came since somebody stopped following; undefined while the view follows (ui.md#d2). */
  readonly newRows = computed(() => {
    const seen = this.#seen.value;
    return seen === undefined ? undefined : rowsAfter(this.document.value, seen);
  });

  readonly folds: PaneFolds;

  /** The rows that are drawn. */
  drawn = { from: 0, to: 0 };

  readonly #seen: Signal<BytePlace | undefined> = signal(undefined);
  readonly #name: LogName;
  /** Ends what is read. Whatever comes afterwards is dropped (ui.md#d4). */
  #reading = new AbortController();
  #isLoading = false;
  readonly #goesOn: boolean;

  /**
   * `goesOn`: attempts that follow this one are shown, too, when it has ended; `opensLast`: the last group is
   * open at first (ui.md#groups).
   */
  constructor(name: LogName, { goesOn, opensLast }: { goesOn: boolean; opensLast: boolean }) {
    this.#name = name;
    this.#goesOn = goesOn;
    this.document = signal(newDocument(name.attempt));
    this.folds = new PaneFolds(this.document, this.position, opensLast);
  }

  /** Ends all reading. */
  close(): void {
    this.#reading.abort();
  }

  /** Shows the end of the latest attempt that is shown, and follows it. */
  showEnd(): void {
    this.#follow(this.#last().attempt, { tail: TAIL_BYTES + BLOCK_BYTES }, this.#again());
  }

  /** Follows what is shown, if its end is in memory; else shows the end. */
  resume(): void {
    if (this.status.value.is === "held") this.showEnd();
    else this.toEnd();
  }

  /** Shows these bytes, with what stands around them (ui.md#d8). */
  showBytes(from: number, to: number, attempt = this.#name.attempt): void {
    this.note.value = "";
    void this.#guarded(this.#again(), (signal) => this.#openAt(attempt, { from, to }, signal));
  }

  /** Shows these lines, counted from the beginning of the log (ui.md#d8). */
  showLines(first: number, last: number): void {
    this.note.value = "";
    void this.#guarded(this.#again(), async (signal) => {
      const { attempt } = this.#name;
      const finder = lineFinder(first, last);
      for await (const news of this.#read(attempt, { from: 0 }, signal)) {
        if (news.is === "ended") break;
        if (news.is !== "bytes") continue;
        const found = finder.take(news.bytes);
        if (found !== undefined) return await this.#openAt(attempt, found, signal);
        this.status.value = { is: "counting", line: first, searched: finder.searched };
      }
      const rest = finder.end();
      if (rest !== undefined) return await this.#openAt(attempt, rest, signal);
      this.note.value = `The link names line ${first}, and this output has fewer lines. This is its end.`;
      this.showEnd();
    });
  }

  /** What is shown of the latest attempt. */
  shown(): Section {
    return this.#last();
  }

  /** The name of an attempt of this output. */
  nameOf(attempt: string): LogName {
    return { ...this.#name, attempt };
  }

  /** Brings bytes into view unless they are, and reads them if they are not in memory. */
  goTo(attempt: string, { from, to }: { from: number; to: number }): void {
    const section = this.document.peek().sections.find((one) => one.attempt === attempt);
    const { window } = section ?? {};
    if (window === undefined || from < window.from || to > window.to) {
      this.showBytes(from, to, attempt);
      return;
    }
    const wasHidden = this.folds.reveal(attempt, { from, to });
    const row = rowAtPlace(this.document.peek(), { attempt, offset: from });
    if (wasHidden || row < this.drawn.from || row >= this.drawn.to) this.moveTo({ row, y: PLACE_PX });
  }

  /** Reads what stands before the first byte in memory. */
  loadEarlier(): void {
    const [first] = this.document.peek().sections;
    if (first === undefined || first.window.from === 0 || this.#isLoading) return;
    const { from: to } = first.window;
    const from = Math.max(0, to - STEP_BYTES);
    this.#load(first.attempt, { from, to }, (bytes) => {
      if (bytes.length < to - from) return;
      const next = withWindow(this.document.peek(), first.attempt, (window) => {
        return window.from === to ? prepend(window, from, bytes) : window;
      });
      // What is far below makes room, and is read again when somebody scrolls there.
      if (documentBytes(next) > MAX_WINDOW_BYTES && this.position.peek().is === "at") this.#hold();
      this.document.value = bounded(next, this.position.peek().is === "end" ? "start" : "end");
    });
  }

  /** Reads what follows the last byte in memory, unless it comes by itself. */
  loadLater(): void {
    if (this.status.peek().is !== "held" || this.#isLoading) return;
    const { attempt, window } = this.#last();
    const span = { from: window.to, to: window.to + STEP_BYTES };
    this.#load(attempt, span, (bytes) => {
      this.document.value = bounded(withBytes(this.document.peek(), attempt, span.from, bytes), "start");
      if (bytes.length < STEP_BYTES) this.#goOn();
    });
  }

  /** Stops reading while nobody can see it (ui.md#d13). */
  pause(): void {
    const { is } = this.status.peek();
    if (is !== "live" && is !== "resuming") return;
    this.#again();
    this.status.value = { is: "paused" };
  }

  /** Goes on at the exact byte after a pause. */
  unpause(): void {
    if (this.status.peek().is === "paused") this.#goOn();
  }

  /** Follows: the end stays in view, whatever comes. */
  toEnd(): void {
    this.#seen.value = undefined;
    this.position.value = { is: "end" };
  }

  /** The reader has scrolled to the end of what is in memory. */
  reachedEnd(anchor: Anchor): void {
    if (this.status.peek().is === "held") this.moveTo(anchor);
    else this.toEnd();
  }

  /** Stays at a place (ui.md#d2). */
  moveTo(anchor: Anchor): void {
    const document = this.document.peek();
    if (this.position.peek().is === "end") {
      const { attempt, window } = this.#last();
      this.#seen.value = { attempt, offset: Math.max(0, window.to - 1) };
    }
    this.position.value = positionOf(document, anchor);
  }

  #last(): Section {
    const last = this.document.peek().sections.at(-1);
    if (last === undefined) throw new Error("a document has at least one section");
    return last;
  }

  #again(): AbortSignal {
    this.#reading.abort();
    this.#reading = new AbortController();
    this.#isLoading = false;
    this.status.value = { is: "opening" };
    return this.#reading.signal;
  }

  #hold(): void {
    this.#again();
    this.status.value = { is: "held" };
  }

  #goOn(): void {
    const { attempt, window } = this.#last();
    if (this.position.peek().is === "at")
      this.#seen.value ??= { attempt, offset: Math.max(0, window.to - 1) };
    this.#follow(attempt, { from: window.to }, this.#again());
  }

  /** Goes on with the attempt after this one, once there is one (ui.md#d3). */
  async #showNext(last: string, signal: AbortSignal): Promise<void> {
    if (!this.#goesOn) return;
    const { run, task } = this.#name;
    const next = await nextAttempt({ run, task, last }, signal, pauseIn(signal));
    if (next === undefined || signal.aborted) return;
    this.document.value = withAttempt(this.document.peek(), next);
    this.#follow(next, { from: 0 }, this.#again());
  }

  /**
   * Reads an attempt, until no more can come. A tail is a new document, and what was shown before stays until
   * the first bytes are there (ui.md#d12).
   */
  #follow(attempt: string, span: LogSpan, signal: AbortSignal): void {
    let fresh: LogDocument | undefined;
    const renew = () => {
      if (fresh === undefined) return;
      this.document.value = fresh;
      this.toEnd();
      fresh = undefined;
    };
    let start = "from" in span ? span.from : undefined;
    const arrivals = new Arrivals((at, bytes) => {
      if (signal.aborted) return;
      renew();
      const from = Math.max(at, start ?? 0);
      this.#take(attempt, from, bytes.subarray(from - at));
    });
    void this.#guarded(signal, async () => {
      for await (const news of this.#read(attempt, span, signal, { follow: true })) {
        if (news.is === "begun") {
          if (start === undefined) {
            start = news.at === 0 ? 0 : blockStart(news.at + BLOCK_BYTES - 1);
            fresh = newDocument(attempt, start);
          }
          this.status.value = { is: "live" };
        }
        if (news.is === "bytes") await arrivals.add(news.at, news.bytes);
        if (news.is !== "ended") continue;
        await arrivals.empty();
        if (signal.aborted) return;
        renew();
        this.status.value = { is: "ended" };
        await this.#showNext(attempt, signal);
      }
    });
  }

  #take(attempt: string, at: number, bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    const next = withBytes(this.document.peek(), attempt, at, bytes);
    const isFollowing = this.position.peek().is === "end";
    // What somebody reads must not go away, so the rest waits.
    if (!isFollowing && documentBytes(next) > MAX_WINDOW_BYTES) this.#hold();
    else this.document.value = bounded(next, "start");
  }

  async #openAt(attempt: string, { from, to }: { from: number; to: number }, signal: AbortSignal) {
    const begin = blockStart(Math.max(0, from - AROUND_BYTES));
    // A link may name more than anybody can look at.
    const span = { from: begin, to: Math.min(to, from + STEP_BYTES) + AROUND_BYTES };
    const bytes = await this.#whole(attempt, span, signal);
    if (begin + bytes.length <= from) {
      this.note.value = `The link names byte ${from}, and this output has fewer. This is its end.`;
      return this.showEnd();
    }
    this.document.value = withBytes(newDocument(attempt, begin), attempt, begin, bytes);
    this.position.value = { is: "at", place: { attempt, offset: from }, part: 0, y: PLACE_PX };
    this.folds.reveal(attempt, { from, to });
    this.status.value = { is: "held" };
    if (bytes.length < span.to - begin) this.#goOn();
  }

  #load(attempt: string, span: { from: number; to: number }, take: (bytes: Uint8Array) => void): void {
    this.#isLoading = true;
    void this.#guarded(this.#reading.signal, async (signal) => {
      const bytes = await this.#whole(attempt, span, signal);
      this.#isLoading = false;
      take(bytes);
    });
  }

  async #whole(
    attempt: string,
    span: { from: number; to: number },
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for await (const news of this.#read(attempt, span, signal)) {
      if (news.is === "bytes") pieces.push(news.bytes);
    }
    return joined(
      pieces,
      pieces.reduce((sum, { length }) => sum + length, 0),
    );
  }

  async *#read(
    attempt: string,
    span: LogSpan,
    signal: AbortSignal,
    { follow = false } = {},
  ): AsyncGenerator<LogNews> {
    const opened = opener({ ...this.#name, attempt }, { follow });
    const open = follow ? sharing(opened) : opened;
    let before = this.status.peek();
    for await (const news of readLog(span, { open, signal, pause: pauseIn(signal) })) {
      signal.throwIfAborted();
      const { is } = this.status.peek();
      if (news.is === "broken") {
        if (is !== "resuming") before = this.status.peek();
        this.status.value = { is: "resuming", at: news.at ?? 0, error: news.error };
      } else if (is === "resuming") this.status.value = before;
      yield news;
    }
  }

  /** Runs what reads, and says why it failed. What was ended on purpose has not failed. */
  async #guarded(signal: AbortSignal, run: (signal: AbortSignal) => Promise<void>): Promise<void> {
    try {
      await run(signal);
    } catch (error) {
      if (!signal.aborted) this.status.value = { is: "failed", error };
    }
  }
}

/** Waits before the try after so many failures in a row, or until reading ends. */
function pauseIn(signal: AbortSignal): (failures: number) => Promise<void> {
  return (failures) => {
    return new Promise((done) => {
      const timer = setTimeout(done, spread(backOffMs(DELAYS, failures), Math.random()));
      const end = () => {
        clearTimeout(timer);
        done();
      };
      signal.addEventListener("abort", end, { once: true });
    });
  };
}
