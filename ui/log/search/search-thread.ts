// How does the page search in a thread of its own, and end what takes too long (ui.md#searches)?
import type { Progress } from "./search.ts";
import type { Wanted } from "./wanted.ts";
import { workerUrl } from "./worker-url.ts";

/** What the page gives to the thread: the next bytes, and at first what to look for in them. */
export type Order = { bytes: Uint8Array; isLast: boolean } & ({ wanted: Wanted; from: number } | object);

/** For how long a regular expression may look at one piece of output. */
export const MAX_MS = 5_000;

/** A regular expression took longer than `MAX_MS` for one piece. */
export class TooSlowError extends Error {}

/** One search. */
export class SearchThread {
  readonly #wanted: Wanted;
  readonly #from: number;
  readonly #worker = new Worker(workerUrl(), { type: "module" });
  /** Resolves once the thread's script runs: loading it is no time of an expression. */
  readonly #loaded: Promise<void>;
  #hasBegun = false;
  #settle: ((answer: Progress | Error) => void) | undefined;

  /** `from`: the offset of the first byte that it will get. */
  constructor(wanted: Wanted, from: number) {
    this.#wanted = wanted;
    this.#from = from;
    this.#loaded = new Promise((ready) => {
      this.#worker.onmessage = ({ data }: MessageEvent<Progress | "ready">) => {
        if (data === "ready") ready();
        else this.#settle?.(data);
      };
    });
    this.#worker.onerror = ({ message }) => {
      this.#settle?.(new Error(`The search has failed: ${message || "its script could not be loaded"}.`));
    };
  }

  /**
   * Searches the next bytes, after the answer to those before. Rejects with `TooSlowError` if an expression
   * takes too long; texts are bounded by themselves. Rejects when the thread is ended, too.
   */
  async next(bytes: Uint8Array, isLast: boolean): Promise<Progress> {
    const begin = this.#hasBegun ? {} : { wanted: this.#wanted, from: this.#from };
    this.#hasBegun = true;
    // A copy: bytes that are sent are gone here.
    const order: Order = { ...begin, bytes: bytes.slice(), isLast };
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      const answer = await new Promise<Progress | Error>((settle) => {
        this.#settle = settle;
        this.#worker.postMessage(order, [order.bytes.buffer]);
        if (!this.#wanted.isPattern) return;
        void this.#loaded.then(() => {
          timer = setTimeout(() => settle(new TooSlowError()), MAX_MS);
        });
      });
      if (answer instanceof Error) throw answer;
      return answer;
    } catch (error) {
      this.end();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends the thread, whatever it does. */
  end(): void {
    this.#worker.terminate();
    this.#settle?.(new Error("the search was ended"));
  }
}
