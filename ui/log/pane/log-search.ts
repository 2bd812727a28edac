// What does somebody look for in a log, how far is the search, and which hit is in view (ui.md#searches)?
import { type Signal, signal } from "@preact/signals";
import { wordsOf } from "../../parts/problem.tsx";
import { onFrame } from "../../store/frame.ts";
import { opener } from "../read/log-call.ts";
import type { Hit } from "../search/needle.ts";
import { faultOf } from "../search/pattern.ts";
import { type Piece, piecesInMemory, piecesOfLog } from "../search/pieces.ts";
import { nextHit, type Results, withProgress } from "../search/search.ts";
import { MAX_MS, SearchThread, TooSlowError } from "../search/search-thread.ts";
import type { Wanted } from "../search/wanted.ts";
import type { LogPane } from "./log-pane.ts";

/** A search, as the view shows it. */
export interface Found {
  attempt: string;
  search: Results;
  /** Where a search of the rest begins: at the last line that is not complete. */
  goesOnAt: number;
  /** How many bytes the log has so far; undefined: that is not known. */
  size: number | undefined;
  /** `in memory`: all that is there has been searched; `ended`: an expression was too slow. */
  state: "running" | "in memory" | "done" | "stopped" | "ended";
  hit: Hit | undefined;
}

/** The search in one pane. */
export class LogSearch {
  readonly found: Signal<Found | undefined> = signal(undefined);
  /** Why a search did not come to its end, and what to do; empty: nothing is wrong. */
  readonly problem: Signal<string> = signal("");
  readonly #pane: LogPane;
  #wanted: Wanted = { text: "", isPattern: false, matchCase: false };
  #running = new AbortController();
  /** What the search that runs has found, which is shown once a frame. */
  #now: Found | undefined;

  constructor(pane: LogPane) {
    this.#pane = pane;
  }

  /** Ends a search that runs. */
  close(): void {
    this.#running.abort();
  }

  /** The reader has seen enough. What was found stays. */
  stop(): void {
    this.close();
    const hit = this.found.peek()?.hit;
    if (this.#now !== undefined) this.found.value = { ...this.#now, hit, state: "stopped" };
  }

  /**
   * Searches what is in memory, and goes to its last hit if it `moves` (ui.md#d7). An empty text ends the
   * search.
   */
  async find(wanted: Wanted, { moves = true } = {}): Promise<void> {
    this.close();
    this.#wanted = wanted;
    this.found.value = undefined;
    const fault = wanted.isPattern ? faultOf(wanted.text) : undefined;
    this.problem.value = fault === undefined ? "" : faultText(wanted.text, fault);
    if (wanted.text === "" || fault !== undefined) return;
    const { attempt, window } = this.#pane.shown();
    const size = this.#pane.status.peek().is === "held" ? undefined : window.to;
    const begun = newFound(attempt, window.from, size);
    const isComplete = await this.#run(begun, () => piecesInMemory(window), "in memory");
    if (isComplete && moves) this.visit(-1);
  }

  /** Searches the whole log, from its beginning (ui.md#d7). What is in view stays. */
  async findAll(): Promise<void> {
    const before = this.found.peek();
    if (before !== undefined) await this.#findFrom(newFound(before.attempt, 0, before.size));
  }

  /** Goes on with a search of the whole log that was stopped. */
  async goOn(): Promise<void> {
    const before = this.found.peek();
    if (before !== undefined) await this.#findFrom(before);
  }

  /** Shows the next hit, or the one before. */
  visit(step: 1 | -1): void {
    const found = this.found.peek();
    if (found === undefined) return;
    const from = found.hit?.from ?? (step === 1 ? -1 : Number.POSITIVE_INFINITY);
    const hit = nextHit(found.search, from, step);
    if (hit === undefined) return;
    this.found.value = { ...found, hit };
    this.#pane.goTo(found.attempt, hit);
  }

  async #findFrom(begun: Found): Promise<void> {
    const open = opener(this.#pane.nameOf(begun.attempt), { follow: false });
    await this.#run(begun, (signal) => piecesOfLog(begun.goesOnAt, { open, signal }), "done");
  }

  /** Searches pieces, and says how far it is. Resolves with whether it has come to the end. */
  async #run(
    begun: Found,
    piecesOf: (signal: AbortSignal) => AsyncIterable<Piece> | Iterable<Piece>,
    atEnd: "in memory" | "done",
  ): Promise<boolean> {
    this.close();
    this.#running = new AbortController();
    const { signal } = this.#running;
    this.problem.value = "";
    let now: Found = { ...begun, state: "running" };
    this.#now = now;
    const tell = () => {
      const hit = this.found.peek()?.hit;
      if (!signal.aborted) this.found.value = { ...now, hit };
    };
    tell();
    const thread = new SearchThread(this.#wanted, begun.goesOnAt);
    signal.addEventListener("abort", () => thread.end());
    try {
      for await (const { bytes, isLast } of piecesOf(signal)) {
        const progress = await thread.next(bytes, isLast);
        now = { ...now, search: withProgress(now.search, progress), goesOnAt: progress.goesOnAt };
        this.#now = now;
        onFrame(tell);
      }
      now = { ...now, state: atEnd, size: atEnd === "done" ? now.search.to : now.size };
    } catch (error) {
      if (signal.aborted) return false;
      const isTooSlow = error instanceof TooSlowError;
      now = { ...now, state: isTooSlow ? "ended" : "stopped" };
      this.problem.value = isTooSlow ? slowText(now.goesOnAt) : wordsOf(error).what;
    } finally {
      thread.end();
    }
    tell();
    return now.state === atEnd;
  }
}

function newFound(attempt: string, from: number, size: number | undefined): Found {
  const search: Results = { from, to: from, count: 0, hits: [] };
  return { attempt, search, goesOnAt: from, size, state: "running", hit: undefined };
}

function faultText(expression: string, fault: string): string {
  return (
    `"${expression}" is no regular expression: ${fault}. ` +
    'Correct it, or turn "Regular expression" off to search for it as a text.'
  );
}

function slowText(offset: number): string {
  return (
    `The search ended at byte ${offset}: there the expression took longer than ${MAX_MS / 1_000} s. ` +
    "Something in it can repeat in too many ways, as in (a+)+. Write it more exactly, or search for a text."
  );
}
