// How does a reader of a run's logs wait for more, and how does a chunk of them come in?
import { type AllocationEvent, type AllocationMessage, hasHeardPool } from "../../core/allocation/machine.ts";
import { answerChunk, type ChunkAnswer, type StoredChunk } from "../../core/allocation/output/chunks.ts";
import type { AllocationState, Existing } from "../../core/allocation/state.ts";
import type { LogStore } from "../files/log-store.ts";
import type { Arrivals, ArrivalsRequest, LineRequest, LogChunk, LogLine, LogRequest } from "../rpc.ts";
import type { Shell } from "../shell.ts";
import { acknowledged, until } from "../waiting.ts";
import { hasArrived, readArrivals } from "./log-arrivals.ts";
import { attemptOf, hasNews, readLog } from "./log-bytes.ts";
import { readLine } from "./log-lines.ts";

/** Reads the logs of one run, and waits for them to grow. */
export class LogReads {
  readonly #store: LogStore;
  readonly #shell: Shell<AllocationState, AllocationEvent, AllocationMessage>;
  readonly #existing: () => Existing;

  constructor(
    store: LogStore,
    shell: Shell<AllocationState, AllocationEvent, AllocationMessage>,
    existing: () => Existing,
  ) {
    this.#store = store;
    this.#shell = shell;
    this.#existing = existing;
  }

  /** A part of one stream (api.md#logs). Waits for bytes if there are none. */
  async bytes(request: LogRequest): Promise<LogChunk> {
    this.#shell.enter();
    const read = () => readLog(this.#store, this.#existing(), request);
    await until(this.#shell.actor, () => hasNews(read(), request), request.waitMs);
    return read();
  }

  /** The order in which both streams arrived (api.md#arrivals). Waits for bytes if there are none. */
  async arrivals(request: ArrivalsRequest): Promise<Arrivals> {
    this.#shell.enter();
    // Offsets count within one attempt: the latest attempt, or the first attempt if none exists yet.
    const oldest = attemptOf(this.#existing().record, request) === null;
    const asked = { ...request, oldest };
    await until(this.#shell.actor, () => hasArrived(this.#existing(), asked), request.waitMs);
    return readArrivals(this.#store, this.#existing(), asked);
  }

  /** Where the number of a line is known (api.md#lines). */
  line(request: LineRequest): LogLine {
    this.#shell.enter();
    return readLine(this.#store, this.#existing(), request);
  }

  /** Notes a chunk, and answers how far its stream is stored. Throws `not_acknowledged`. */
  async store(chunk: StoredChunk): Promise<ChunkAnswer> {
    this.#shell.enter();
    const text = "the run has not heard in time from its pool where it is placed; send the chunk again";
    await acknowledged(this.#shell.actor, () => hasHeardPool(this.#shell.actor.state), text);
    return answerChunk(this.#shell.actor.apply({ type: "chunk", chunk }), chunk);
  }
}
