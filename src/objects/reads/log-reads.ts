// How does a reader of a run's logs wait for more, and how does a chunk of them come in?
import { type AllocationEvent, type AllocationMessage, hasHeardPool } from "../../core/allocation/machine.ts";
import { answerChunk, type ChunkAnswer, type StoredChunk } from "../../core/allocation/output/chunks.ts";
import type { AllocationState, Existing } from "../../core/allocation/state.ts";
import type { Actor } from "../actor.ts";
import type { LogStore } from "../files/log-store.ts";
import type { Arrivals, ArrivalsRequest, LogChunk, LogRequest } from "../rpc.ts";
import { acknowledged, until } from "../waiting.ts";
import { hasArrived, readArrivals } from "./log-arrivals.ts";
import { attemptOf, hasNews, readLog } from "./log-bytes.ts";

/** Reads the logs of one run, and waits for them to grow. */
export class LogReads {
  readonly #store: LogStore;
  readonly #actor: Actor<AllocationState, AllocationEvent, AllocationMessage>;
  readonly #existing: () => Existing;

  constructor(
    store: LogStore,
    actor: Actor<AllocationState, AllocationEvent, AllocationMessage>,
    existing: () => Existing,
  ) {
    this.#store = store;
    this.#actor = actor;
    this.#existing = existing;
  }

  /** A part of one stream (api.md#logs). Waits for bytes if there are none. */
  async bytes(request: LogRequest): Promise<LogChunk> {
    const read = () => readLog(this.#store, this.#existing(), request);
    await until(this.#actor, () => hasNews(read(), request), request.waitMs);
    return read();
  }

  /** The order in which both streams arrived (api.md#arrivals). Waits for bytes if there are none. */
  async arrivals(request: ArrivalsRequest): Promise<Arrivals> {
    // Offsets count within one attempt: the latest attempt, or the first attempt if none exists yet.
    const oldest = attemptOf(this.#existing().record, request) === null;
    const asked = { ...request, oldest };
    await until(this.#actor, () => hasArrived(this.#existing(), asked), request.waitMs);
    return readArrivals(this.#store, this.#existing(), asked);
  }

  /** Notes a chunk, and answers how far its stream is stored. Throws `not_acknowledged`. */
  async store(chunk: StoredChunk): Promise<ChunkAnswer> {
    const text = "the run has not heard in time from its pool where it is placed; send the chunk again";
    await acknowledged(this.#actor, () => hasHeardPool(this.#actor.state), text);
    return answerChunk(this.#actor.apply({ type: "chunk", chunk }), chunk);
  }
}
