// What does somebody look for in a log, how far is the search, and which hit is in view?
import { type Signal, signal } from "@preact/signals";
import { onFrame } from "../../store/frame.ts";
import { opener } from "../read/log-call.ts";
import { readLog } from "../read/log-reading.ts";
import { type Hit, type Needle, needleOf } from "../search/needle.ts";
import { newSearch, nextHit, type Search, searched } from "../search/search.ts";
import type { LogPane } from "./log-pane.ts";

/** A search, as the view shows it. */
export interface Found {
  attempt: string;
  search: Search;
  /** How many bytes the log has so far; undefined: that is not known. */
  size: number | undefined;
  /** Why it has not come to the end of the log; undefined: it has, or it is in memory. */
  state: "in memory" | "running" | "done" | "stopped";
  hit: Hit | undefined;
}

/** The search in one pane. */
export class LogSearch {
  readonly found: Signal<Found | undefined> = signal(undefined);
  readonly #pane: LogPane;
  #needle: Needle = needleOf("", { matchCase: false });
  #running = new AbortController();

  constructor(pane: LogPane) {
    this.#pane = pane;
  }

  /** Ends a search that runs. */
  close(): void {
    this.#running.abort();
  }

  /** Searches what is in memory (ui.md#d7). An empty text ends the search. */
  find(text: string, matchCase: boolean): void {
    this.close();
    this.#needle = needleOf(text, { matchCase });
    if (text === "") {
      this.found.value = undefined;
      return;
    }
    const { attempt, window } = this.#pane.shown();
    let search = newSearch(window.from);
    for (const [index, { bytes }] of window.blocks.entries()) {
      search = searched(search, this.#needle, bytes, index === window.blocks.length - 1);
    }
    const size = this.#pane.status.peek().is === "held" ? undefined : window.to;
    this.found.value = { attempt, search, size, state: "in memory", hit: undefined };
    this.visit(-1);
  }

  /** Searches the whole log, from its beginning (ui.md#d7). What is in view stays. */
  async findAll(): Promise<void> {
    const before = this.found.peek();
    if (before === undefined) return;
    this.close();
    this.#running = new AbortController();
    const { signal } = this.#running;
    const open = opener(this.#pane.nameOf(before.attempt), { follow: false });
    let search = newSearch(0);
    const tell = (state: Found["state"]) => {
      const now = search;
      onFrame(() => {
        const size = state === "done" ? now.to : before.size;
        if (!signal.aborted) this.found.value = { ...before, search: now, size, state };
      });
    };
    try {
      for await (const news of readLog({ from: 0 }, { open, signal, pause: stop })) {
        if (news.is === "bytes") search = searched(search, this.#needle, news.bytes);
        if (news.is === "ended") search = searched(search, this.#needle, new Uint8Array(), true);
        tell(news.is === "ended" ? "done" : "running");
      }
    } catch {
      // How far it came is said, and the button offers the rest.
      tell("stopped");
    }
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
}

/** A search that breaks ends: whoever wants goes on by the button. */
async function stop(): Promise<never> {
  throw new Error("the connection broke");
}
