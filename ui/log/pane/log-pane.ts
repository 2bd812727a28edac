// What does a view of output have in memory, what is in view, and what is read next?
import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { BLOCK_BYTES, blockStart } from "../bytes/block.ts";
import {
  bounded,
  documentBytes,
  type LogDocument,
  newDocument,
  rowAtPlace,
  type Section,
  withAttempt,
  withBytes,
  withCount,
  withWindow,
} from "../bytes/document.ts";
import { joined } from "../bytes/joined.ts";
import { lineFinder } from "../bytes/line-finder.ts";
import type { Position } from "../bytes/position.ts";
import { MAX_WINDOW_BYTES, type NewlineCount, prepend } from "../bytes/window.ts";
import { startOfLine } from "../read/line-numbers.ts";
import { type LogName, opener } from "../read/log-call.ts";
import { type LogNews, type LogSpan, readLog } from "../read/log-reading.ts";
import { attemptToShow, type Following } from "../read/next-attempt.ts";
import { pauseIn } from "../read/pause.ts";
import { sharing } from "../read/sharing.ts";
import { type Anchor, ROW_PX } from "../scroll.ts";
import { Arrivals } from "./arrivals.ts";
import { PaneFolds } from "./pane-folds.ts";
import { Standing } from "./standing.ts";
import type { PaneStatus } from "./status.ts";

/** How much of the end is read first (ui.md#d6). */
const TAIL_BYTES = 256 * 1024;
/** How much is read when somebody scrolls to where nothing has been read. */
const STEP_BYTES = 1024 * 1024;
/** How much is read before and after a place that a link names. */
const AROUND_BYTES = 64 * 1024;
/** Where such a place stands in the view. */
const PLACE_PX = 5 * ROW_PX;

/** The output of one task and stream: one attempt, and those that follow while somebody looks. */
export class LogPane {
  readonly document: Signal<LogDocument>;
  readonly position: Signal<Position>;
  readonly status: Signal<PaneStatus> = signal({ is: "opening" });
  /** Why the view does not show what its address names. */
  readonly note: Signal<string> = signal("");
  /** How many rows came since somebody stopped following; undefined while the view follows (ui.md#d2). */
  readonly newRows: ReadonlySignal<number | undefined>;

  readonly folds: PaneFolds;

  /** The rows that are drawn. */
  drawn = { from: 0, to: 0 };

  readonly #standing: Standing;
  readonly #name: LogName;
  /** Ends what is read. Whatever comes afterwards is dropped (ui.md#d4). */
  #reading = new AbortController();
  #isLoading = false;
  /** Whether the attempt has ended, and another one may come. */
  #awaitsNext = false;
  readonly #following: Following;

  /** `opensLast`: the last group is open at first (ui.md#groups). */
  constructor(name: LogName, following: Following, opensLast: boolean) {
    this.#name = name;
    this.#following = following;
    this.document = signal(newDocument(name.attempt));
    this.#standing = new Standing(this.document);
    this.position = this.#standing.position;
    this.newRows = this.#standing.newRows;
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

  /** Shows these lines. Reading begins at the nearest byte whose line has a known number (ui.md#d8). */
  showLines(first: number, last: number): void {
    this.note.value = "";
    void this.#guarded(this.#again(), async (signal) => {
      const { attempt } = this.#name;
      const show = (bytes: { from: number; to: number }) => {
        return this.#openAt(attempt, bytes, signal, { at: bytes.from, newlines: first - 1 });
      };
      const start = await startOfLine(this.#name, first, signal);
      const finder = lineFinder(first, last, start);
      for await (const news of this.#read(attempt, { from: start.from }, signal)) {
        if (news.is === "ended") break;
        if (news.is !== "bytes") continue;
        const found = finder.take(news.bytes);
        if (found !== undefined) return await show(found);
        const part = finder.end();
        // A link may name more lines than anybody can look at.
        if (part !== undefined && part.to - part.from > STEP_BYTES) return await show(part);
        this.status.value = { is: "counting", line: first, searched: finder.searched - start.from };
      }
      const rest = finder.end();
      if (rest !== undefined) return await show(rest);
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
    const isReading = is === "live" || is === "resuming" || this.#awaitsNext;
    if (!isReading) return;
    this.#again();
    this.status.value = { is: "paused" };
  }

  /** Goes on at the exact byte after a pause. */
  unpause(): void {
    if (this.status.peek().is === "paused") this.#goOn();
  }

  /** Follows: the end stays in view, whatever comes. */
  toEnd(): void {
    this.#standing.toEnd();
  }

  /** The reader has scrolled to the end of what is in memory. */
  reachedEnd(anchor: Anchor): void {
    if (this.status.peek().is === "held") this.moveTo(anchor);
    else this.toEnd();
  }

  /** Stays at a place (ui.md#d2). */
  moveTo(anchor: Anchor): void {
    this.#standing.moveTo(anchor);
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
    this.#awaitsNext = false;
    this.status.value = { is: "opening" };
    return this.#reading.signal;
  }

  #hold(): void {
    this.#again();
    this.status.value = { is: "held" };
  }

  #goOn(): void {
    const { attempt, window } = this.#last();
    this.#standing.countFromHere();
    this.#follow(attempt, { from: window.to }, this.#again());
  }

  /** Goes on with the attempt after this one, once there is one (ui.md#d3). */
  async #showNext(last: string, signal: AbortSignal): Promise<void> {
    this.#awaitsNext = true;
    const next = await attemptToShow({ ...this.#name, last }, this.#following, signal);
    if (signal.aborted) return;
    this.#awaitsNext = false;
    if (next === undefined) return;
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

  /** Reads these bytes, with what stands around them. `known`: how many newlines the log has before one. */
  async #openAt(
    attempt: string,
    { from, to }: { from: number; to: number },
    signal: AbortSignal,
    known?: NewlineCount,
  ) {
    const begin = blockStart(Math.max(0, from - AROUND_BYTES));
    // A link may name more than anybody can look at.
    const span = { from: begin, to: Math.min(to, from + STEP_BYTES) + AROUND_BYTES };
    const bytes = await this.#whole(attempt, span, signal);
    if (begin + bytes.length <= from) {
      this.note.value = `The link names byte ${from}, and this output has fewer. This is its end.`;
      return this.showEnd();
    }
    const read = withBytes(newDocument(attempt, begin), attempt, begin, bytes);
    this.document.value = known === undefined ? read : withCount(read, attempt, known);
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
