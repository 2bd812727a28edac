// Which storage, alarm and methods does a run have? Its decisions are in `core/allocation`.
import { DurableObject } from "cloudflare:workers";
import { areLogsOver, mayForget } from "../core/allocation/forget.ts";
import { allocationInbox } from "../core/allocation/inbox.ts";
import { allocationFrom, storedOf } from "../core/allocation/load.ts";
import {
  type AllocationEvent,
  type AllocationMessage,
  allocationMachine,
  hasHeardPool,
  hasToldPool,
  isDecided,
} from "../core/allocation/machine.ts";
import type { ChunkAnswer, StoredChunk } from "../core/allocation/output/chunks.ts";
import { readRun } from "../core/allocation/read/cost.ts";
import type { AllocationRecord, AllocationState, Existing, Tombstone } from "../core/allocation/state.ts";
import { summaryOf } from "../core/allocation/summary.ts";
import { isRepeated } from "../core/allocation/user/idempotency.ts";
import { whyRefused } from "../core/allocation/user/requests.ts";
import { type TunnelPlace, tunnelPlace } from "../core/allocation/user/tunnels.ts";
import { refusalOfUpdate } from "../core/allocation/user/update.ts";
import type { Answer, Message } from "../core/inbox.ts";
import type { RunStatus, RunSummary } from "../schema/run/run.ts";
import type { RunStats } from "../schema/run/stats.ts";
import type { Why } from "../schema/why.ts";
import type { AllocationStub, Env } from "./env.ts";
import { LogStore } from "./files/log-store.ts";
import { post, receive } from "./messages/post.ts";
import { countViolations, peersOf } from "./messages/stubs.ts";
import { bootOfRun, explainRun, hasEvents, statsOfRun } from "./reads/allocation-reads.ts";
import { existing, isReleased, isSettled, PLACE_KNOWN_MS, refusedBy, refuseOther } from "./reads/existing.ts";
import { LogReads } from "./reads/log-reads.ts";
import type { AllocationApi, RequestAnswer, SubmitRequest, UpdateRequest, WaitedFor } from "./rpc.ts";
import { Shell } from "./shell.ts";
import { ValueStore } from "./store.ts";
import { acknowledged, until } from "./waiting.ts";

/** The Durable Object of a run. */
export class Allocation extends DurableObject<Env> implements AllocationStub {
  readonly #name = this.ctx.id.name ?? "";
  readonly #store = new ValueStore<AllocationRecord | Tombstone>(this.ctx.storage);
  readonly #logs = new LogStore(this.ctx.storage.kv, this.env.LOGS, this.#name);
  readonly #shell = new Shell<AllocationState, AllocationEvent, AllocationMessage>(
    this.ctx,
    allocationMachine,
    {
      load: (alarmAt, now) => allocationFrom(this.#store.read(), alarmAt, now),
      isStored: (state) => state.spill.length === 0 && this.#store.has(storedOf(state)),
      save: (state) => this.#save(state),
      saved: () => this.#store.sweep(),
      send: async (message): Promise<AllocationEvent> => {
        if (message.kind !== "clear_logs") return post(peersOf(this.env), message);
        await this.#logs.clear(() => areLogsOver(this.#actor.state, this.#shell.now()));
        return { type: "logs_cleared" };
      },
      violated: (count) =>
        countViolations(this.env, this.#actor.state.record?.spec.pool, "allocation", count),
    },
  );
  readonly #actor = this.#shell.actor;
  readonly #reads = new LogReads(this.#logs, this.#shell, () => this.#existing());

  #save(state: AllocationState): void {
    this.#logs.write(state.spill);
    const left = storedOf(state);
    this.#store.set(left);
    if (left === null) this.#shell.emptied();
  }

  override async alarm(): Promise<void> {
    this.#shell.alarm();
  }

  #existing(): Existing {
    return existing(this.#actor.state, this.#name);
  }

  #entered(event?: AllocationEvent): Existing {
    this.#shell.enter(event);
    return this.#existing();
  }

  /** Waits until `holds` is true for the state, or for `waitMs`. Returns the run. */
  async #once(
    holds: (state: AllocationState) => boolean,
    waitMs: number,
    event?: AllocationEvent,
  ): Promise<Existing> {
    this.#entered(event);
    await until(this.#actor, () => holds(this.#actor.state), waitMs);
    return this.#existing();
  }

  #status(run = this.#existing()): RunStatus {
    return readRun(run, this.#shell.now());
  }

  async submit(request: SubmitRequest): Promise<{ created: boolean; status: RunStatus }> {
    const created = this.#actor.state.record === null;
    refuseOther(this.#shell.enter({ type: "submitted", id: this.#name, ...request }), this.#name, request);
    if (this.#actor.state.record !== null) {
      const text = `the pool "${request.spec.pool}" has not confirmed the run in time; submit it again`;
      await acknowledged(this.#actor, () => isDecided(this.#actor.state), text);
    }
    const { refusal } = this.#actor.state.memo;
    if (refusal !== null) throw refusedBy(request.spec.pool, refusal);
    return { created, status: this.#status() };
  }

  async read({ boot = false } = {}): Promise<RunStatus> {
    const run = await this.#once(hasHeardPool, PLACE_KNOWN_MS);
    return { ...this.#status(run), ...(boot ? { boot: await bootOfRun(run, peersOf(this.env)) } : {}) };
  }

  async wait(states: WaitedFor, waitMs: number): Promise<RunStatus> {
    return this.#status(await this.#once((state) => isSettled(state, states), waitMs));
  }

  async summary(states: WaitedFor = [], waitMs = 0): Promise<RunSummary> {
    return summaryOf(await this.#once((state) => isSettled(state, states), waitMs), this.#shell.now());
  }

  async abort({ waitMs, ...abort }: Parameters<AllocationApi["abort"]>[0]): Promise<RunStatus> {
    const hasEnded = ({ record }: AllocationState) => record?.ended !== false;
    return this.#status(await this.#once(hasEnded, waitMs, { type: "abort", ...abort }));
  }

  async release({ waitMs, ...release }: Parameters<AllocationApi["release"]>[0]): Promise<RunStatus> {
    return this.#status(await this.#once(isReleased, waitMs, { type: "release", ...release }));
  }

  async redrive(redrive: Parameters<AllocationApi["redrive"]>[0]): Promise<RunStatus> {
    return this.#status(await this.#once(hasToldPool, PLACE_KNOWN_MS, { type: "redrive", ...redrive }));
  }

  async restart(...[request, key, via]: Parameters<AllocationApi["restart"]>): Promise<RequestAnswer> {
    return this.#requested({ type: "restart", request, key, via });
  }

  async signal(...[request, key, via]: Parameters<AllocationApi["signal"]>): Promise<RequestAnswer> {
    return this.#requested({ type: "signal", request, key, via });
  }

  async tunnel(...[request, key, via]: Parameters<AllocationApi["tunnel"]>): Promise<TunnelPlace> {
    tunnelPlace(this.#entered(), request);
    return tunnelPlace(this.#entered({ type: "tunnel", request, key, via }), request);
  }

  #requested(event: Extract<AllocationEvent, { type: "restart" | "signal" }>): RequestAnswer {
    const replayed = isRepeated(this.#entered().record, event.key);
    const refusal = replayed ? null : whyRefused(this.#existing(), event.request);
    if (refusal !== null) throw refusal;
    this.#actor.apply(event);
    return { replayed, status: this.#status() };
  }

  async update({ spec, specIndex, by, via }: UpdateRequest): Promise<RunStatus> {
    const refusal = refusalOfUpdate(this.#entered().record, spec, specIndex);
    if (refusal !== null) throw refusal;
    this.#actor.apply({ type: "update", spec, specIndex, by, via });
    return this.#status();
  }

  async events(after: number, waitMs: number): ReturnType<AllocationApi["events"]> {
    const { record } = await this.#once((state) => hasEvents(state, after), waitMs);
    const items = record.events.filter(({ seq }) => seq > after);
    return { items, dropped: record.eventsDropped, ended: record.ended };
  }

  async why(): Promise<Why> {
    return explainRun(await this.#once(hasHeardPool, PLACE_KNOWN_MS), peersOf(this.env));
  }

  async stats(task?: string): Promise<RunStats> {
    return statsOfRun(this.#entered(), peersOf(this.env), task);
  }

  async log(...[request]: Parameters<AllocationApi["log"]>): ReturnType<AllocationApi["log"]> {
    return this.#reads.bytes(request);
  }

  async arrivals(...[request]: Parameters<AllocationApi["arrivals"]>): ReturnType<AllocationApi["arrivals"]> {
    return this.#reads.arrivals(request);
  }

  async line(...[request]: Parameters<AllocationApi["line"]>): ReturnType<AllocationApi["line"]> {
    return this.#reads.line(request);
  }

  async storeLog(chunk: StoredChunk): Promise<ChunkAnswer> {
    return this.#reads.store(chunk);
  }

  async deliver(message: Message<"allocation">): Promise<Answer<"allocation">> {
    this.#shell.count();
    if (message.type === "forget") await this.#logs.clear(() => mayForget(this.#actor.state, message.body));
    return receive(allocationInbox, this.#actor, message, this.#shell.now());
  }
}
