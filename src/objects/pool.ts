import { DurableObject } from "cloudflare:workers";
import { DroverError } from "../core/errors.ts";
import { ACKNOWLEDGE_MS } from "../core/limits.ts";
import type {
  Configure,
  ConfigureAnswer,
  Forget,
  PoolAnswer,
  RunUpsert,
  WorkerUpsert,
  WorkerUpsertAnswer,
} from "../core/messages.ts";
import { type PoolEvent, type PoolMessage, poolMachine } from "../core/pool/machine.ts";
import { answerRun } from "../core/pool/runs.ts";
import {
  type Configured,
  isLiveRun,
  isLiveWorker,
  loadedPool,
  type PoolRecord,
  type PoolState,
  type RunRow,
  runKey,
  type WorkerRow,
} from "../core/pool/state.ts";
import { explainRun, poolView, runsByWorker, workerSummary } from "../core/pool/views.ts";
import { answerWorker } from "../core/pool/workers.ts";
import { Rows } from "../core/rows.ts";
import type { PoolView, WorkerState, WorkerSummary } from "../schema/pool.ts";
import type { RunSummary, Why } from "../schema/run.ts";
import type { Env } from "./env.ts";
import { invite } from "./invitations.ts";
import type { PoolPeer } from "./peers.ts";
import { sendOfPool } from "./pool-messages.ts";
import type { Invitation, InvitationRequest, PoolApi, RunFilter } from "./rpc.ts";
import { isMatch, MAX_WAIT_ITEMS, RunLists } from "./run-lists.ts";
import { Shell } from "./shell.ts";
import { SqlRowDisk, ValueStore } from "./store.ts";
import { until } from "./waiting.ts";

/** The object that is a queue and the workers that serve it. What it decides is in `core/pool`. */
export class Pool extends DurableObject<Env> implements PoolApi, PoolPeer {
  readonly #store = new ValueStore<PoolRecord>(this.ctx.storage);
  readonly #runs = new SqlRowDisk<RunRow>(this.ctx.storage.sql, "runs");
  readonly #workers = new SqlRowDisk<WorkerRow>(this.ctx.storage.sql, "workers");
  #latest: RunUpsert | null = null;
  readonly #lists = new RunLists(this.#runs);
  readonly #shell = new Shell<PoolState, PoolEvent, PoolMessage>(
    this.ctx,
    poolMachine,
    { type: "tick" },
    {
      load: () =>
        loadedPool(
          this.#store.read(),
          new Rows(this.#runs, isLiveRun),
          new Rows(this.#workers, isLiveWorker),
        ),
      save: (state) => {
        state.runs.flush();
        state.workers.flush();
        if (state.record !== null) this.#store.write(state.record);
      },
      send: (message) => sendOfPool(this.env, message, () => this.#configured()),
    },
  );
  readonly #actor = this.#shell.actor;

  get #name(): string {
    return this.ctx.id.name ?? "";
  }

  override async alarm(): Promise<void> {
    this.#shell.alarm();
  }

  #configured(): Configured {
    const { state } = this.#actor;
    if (state.record === null) throw new DroverError("unknown_pool", `there is no pool "${this.#name}"`);
    return { ...state, record: state.record };
  }

  async configure(configure: Configure): Promise<ConfigureAnswer> {
    const { record, memo } = this.#shell.enter({ type: "configure", configure });
    if (memo.refusedRevision === configure.revision) {
      const text = "the provider's kind and url cannot change while the pool has machines; drain them first";
      return { kind: "refused", revision: configure.revision, code: "pool_in_use", text };
    }
    return { kind: "configured", revision: record?.revision ?? 0 };
  }

  async upsertRun(upsert: RunUpsert): Promise<PoolAnswer> {
    this.#latest = upsert;
    this.#lists.seen(upsert.run, upsert.submittedAt);
    return answerRun(this.#shell.enter({ type: "run", upsert }), upsert);
  }

  async upsertWorker(upsert: WorkerUpsert): Promise<WorkerUpsertAnswer> {
    return answerWorker(this.#shell.enter({ type: "worker", upsert }), upsert, Date.now());
  }

  async poke(): Promise<void> {
    this.#shell.enter();
  }

  async explain(run: string): Promise<Why | null> {
    this.#shell.enter();
    return explainRun(this.#configured(), run, Date.now());
  }

  async view(): Promise<PoolView> {
    this.#shell.enter();
    return poolView(this.#configured(), Date.now());
  }

  async forget(forget: Forget): Promise<void> {
    const key = runKey(forget.submittedAt, forget.run);
    const { runs } = this.#shell.enter({ type: "unwanted", forget });
    if (runs.get(key)?.forget === true) {
      const gone = () => this.#actor.state.runs.get(key) === undefined;
      if (await until(this.#actor, gone, ACKNOWLEDGE_MS)) return;
    }
    const text = "the run has ended, and not everybody has confirmed that yet; try again";
    throw new DroverError("not_acknowledged", text, { retryAfterMs: 1_000 });
  }

  async invite(request: InvitationRequest): Promise<Invitation> {
    this.#shell.enter();
    return invite(this.#actor, this.#configured().record, request, this.env.DROVER_SIGNING_KEY);
  }

  async list(
    filter: RunFilter,
    page: { limit: number; cursor?: string },
  ): Promise<{ items: RunSummary[]; next: string | null }> {
    this.#shell.enter();
    const state = this.#configured();
    if (filter.ids !== undefined) return { items: this.#lists.byIds(state, filter), next: null };
    return this.#lists.page(state, filter, page.limit, page.cursor);
  }

  async wait(filter: RunFilter, waitMs: number): Promise<RunSummary[]> {
    this.#shell.enter();
    const all = () => {
      const state = this.#configured();
      return filter.ids === undefined
        ? this.#lists.page(state, filter, MAX_WAIT_ITEMS).items
        : this.#lists.byIds(state, filter);
    };
    let found = all();
    // Whatever comes to match, its row has changed: the others need not be read again for each waiter.
    const matches = () => this.#latest !== null && isMatch(this.#latest, filter);
    const look = () => {
      if (found.length === 0 && matches()) found = all();
      return found.length > 0;
    };
    await until(this.#actor, look, waitMs);
    return found;
  }

  async workers(states: WorkerState[]): Promise<WorkerSummary[]> {
    this.#shell.enter();
    const state = this.#configured();
    const runs = runsByWorker(state);
    const rows = states.includes("gone")
      ? this.#workers.readBelow("~", 1_000).map(([, row]) => row)
      : [...state.workers.live()];
    return rows
      .map((row) => workerSummary(row, runs.get(row.worker) ?? [], this.#name))
      .filter((one) => states.includes(one.state));
  }
}
