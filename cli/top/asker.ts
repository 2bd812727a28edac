// What does `drover top` ask Drover while it is shown, and what if there is no answer?
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../client/client.ts";
import { ApiError, UnreachableError } from "../../client/errors.ts";
import { fields } from "../terminal/text.ts";
import { whyFields } from "../terminal/why-text.ts";
import type { Inputs } from "./inputs.ts";
import type { Effect, Input } from "./model.ts";
import { type Look, PoolWatch } from "./pool-watch.ts";

/** From this status on, Drover has failed, and the same request may succeed later. */
const FIRST_FAULT_STATUS = 500;

/** What is asked about has ended and is deleted. */
const GONE_STATUSES: readonly number[] = [404, 410];

/** A call is tried once: if it fails, that is shown, and the next look is near. */
const ONCE = { patience: { unreachableMs: 0, busyMs: 0 } };

/** Asks in the background, and puts the answers among the inputs. */
export class Asker {
  readonly #client: Client;
  readonly #inputs: Inputs<Input>;
  readonly #intervalMs: number;
  readonly #over = new AbortController();
  #watching = new AbortController();

  constructor(client: Client, inputs: Inputs<Input>, intervalMs: number) {
    this.#client = client;
    this.#inputs = inputs;
    this.#intervalMs = intervalMs;
  }

  /** Looks at this pool again and again, and at no other. `firstMs`: the pause before the first look. */
  watch(watch: PoolWatch, firstMs = this.#intervalMs): void {
    this.#watching.abort();
    this.#watching = new AbortController();
    const signal = AbortSignal.any([this.#over.signal, this.#watching.signal]);
    this.#start(signal, async () => {
      for (let pauseMs = firstMs; ; pauseMs = this.#intervalMs) {
        await sleep(pauseMs, undefined, { signal });
        const input = await this.#look(watch, signal);
        signal.throwIfAborted();
        this.#inputs.put(input);
      }
    });
  }

  /** Asks what a key is about. */
  ask(effect: Exclude<Effect, { do: "end" }>, look: Look): void {
    const { signal } = this.#over;
    this.#start(signal, async () => {
      if (effect.do === "show other pool") return this.#showOtherThan(effect.than, signal);
      const lines = await this.#explained(effect.id, look, signal);
      this.#inputs.put({ type: "detail", id: effect.id, lines });
    });
  }

  /** Ends all that is under way. */
  stop(): void {
    this.#over.abort();
  }

  /** Works until the signal. If that fails before, the reader of the inputs fails. */
  #start(signal: AbortSignal, work: () => Promise<void>): void {
    work().catch((error: unknown) => {
      if (!signal.aborted) this.#inputs.fail(error);
    });
  }

  async #look(watch: PoolWatch, signal: AbortSignal): Promise<Input> {
    try {
      return { type: "look", look: await watch.look({ ...ONCE, signal }) };
    } catch (error) {
      return { type: "trouble", text: troubleOf(error) };
    }
  }

  /** Why a run or a worker is in its state. What has gone meanwhile is no reason to end. */
  async #explained(id: string, { workers, at }: Look, signal: AbortSignal): Promise<string[]> {
    const of = workers.some((one) => one.id === id) ? this.#client.workers : this.#client.runs;
    const isWorker = of === this.#client.workers;
    try {
      const why = await of.why(id, { ...ONCE, signal });
      const more = isWorker ? `drover workers ${id}` : `drover status ${id}, drover logs ${id}`;
      const pairs = [[isWorker ? "Worker" : "Run", id], ...whyFields(id, why, at), ["More", more]] as const;
      return fields(pairs, (text) => text)
        .trimEnd()
        .split("\n");
    } catch (error) {
      if (error instanceof ApiError && GONE_STATUSES.includes(error.status)) return [error.detail];
      return [troubleOf(error)];
    }
  }

  /** Shows the next pool by name. */
  async #showOtherThan(name: string, signal: AbortSignal): Promise<void> {
    const names = await this.#poolNames(signal);
    if (typeof names === "string") return this.#inputs.put({ type: "notice", text: names });
    const other = names.find((one) => one > name) ?? names[0];
    if (other === undefined || other === name) {
      return this.#inputs.put({ type: "notice", text: "There is no other pool." });
    }
    this.watch(new PoolWatch(this.#client, other), 0);
  }

  /** The names of all pools in order, or why they are not known. */
  async #poolNames(signal: AbortSignal): Promise<string[] | string> {
    try {
      const { items } = await this.#client.pools.list({ ...ONCE, signal });
      return items.map(({ name }) => name).sort();
    } catch (error) {
      return troubleOf(error);
    }
  }
}

/** What is wrong, if the same request may succeed later. Any other error is thrown. */
function troubleOf(error: unknown): string {
  if (error instanceof UnreachableError) return `Drover does not answer: ${error.reason}`;
  const isPassing = error instanceof ApiError && (error.temporary || error.status >= FIRST_FAULT_STATUS);
  if (isPassing) return error.detail;
  throw error;
}
