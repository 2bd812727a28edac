// Which storage, waits and methods does a pool have? Its decisions are in `core/pool`.
import { DurableObject } from "cloudflare:workers";
import type { Via } from "../core/audit/via.ts";
import type { Answer, Message } from "../core/inbox.ts";
import type { RunRef } from "../core/messages.ts";
import { poolInbox } from "../core/pool/inbox.ts";
import { loadedPool } from "../core/pool/load.ts";
import { type PoolEvent, type PoolMessage, poolMachine } from "../core/pool/machine.ts";
import type { HourRow } from "../core/pool/past/hour-record.ts";
import { takeCall } from "../core/pool/provider/asked-calls.ts";
import { eventsAfter, hasEvents } from "../core/pool/read/events.ts";
import { type QueuePage, type QueueStretch, queuePage } from "../core/pool/read/lists.ts";
import { metricsOf } from "../core/pool/read/metrics.ts";
import { listedRun } from "../core/pool/read/run-costs.ts";
import { explainRun, poolView } from "../core/pool/read/views.ts";
import type { PoolRecord, RunRow, WorkerRow } from "../core/pool/record.ts";
import { isLiveRun, isLiveWorker, runKey } from "../core/pool/record.ts";
import { type Configured, isRemoved, type PoolState, tablesOf } from "../core/pool/state.ts";
import { Rows } from "../core/rows.ts";
import type { ListedWorker, PoolView, WorkerStateName } from "../schema/pool.ts";
import type { Why } from "../schema/why.ts";
import { DroverError } from "../shared/errors.ts";
import { ACKNOWLEDGE_MS } from "../shared/limits.ts";
import type { Env, PoolStub } from "./env.ts";
import { Cloud } from "./host/cloud.ts";
import { post, receive } from "./messages/post.ts";
import { peersOf } from "./messages/stubs.ts";
import { wakeAll } from "./messages/wake-all.ts";
import { pastOf } from "./past/past.ts";
import { AuditLog } from "./reads/audit-log.ts";
import { invite } from "./reads/invitations.ts";
import { RunLists } from "./reads/run-lists.ts";
import { RunWaits } from "./reads/run-waits.ts";
import { ownerOfWorker, workersOf } from "./reads/worker-lists.ts";
import type { Past, PastRequest, PoolApi, RunFilter, RunNews, RunWait } from "./rpc.ts";
import { Shell } from "./shell.ts";
import { SqlRowDisk, ValueStore } from "./store.ts";
import { until } from "./waiting.ts";

/** The Durable Object of a pool. */
export class Pool extends DurableObject<Env> implements PoolStub {
  readonly #name = this.ctx.id.name ?? "";
  readonly #store = new ValueStore<PoolRecord>(this.ctx.storage);
  readonly #runs = new SqlRowDisk<RunRow>(this.ctx.storage.sql, "runs");
  readonly #workers = new SqlRowDisk<WorkerRow>(this.ctx.storage.sql, "workers");
  readonly #hours = new SqlRowDisk<HourRow>(this.ctx.storage.sql, "hours");
  readonly #lists = new RunLists(this.#runs);
  readonly #audit = new AuditLog(this.ctx.storage.sql, this.env.LOGS, { disk: this.#runs, pool: this.#name });
  readonly #shell = new Shell<PoolState, PoolEvent, PoolMessage>(this.ctx, poolMachine, {
    load: () =>
      loadedPool(
        this.#store.read(),
        new Rows(this.#runs, isLiveRun),
        new Rows(this.#workers, isLiveWorker),
        this.#audit.load(),
        new Rows(this.#hours, () => false),
      ),
    isStored: (state) => tablesOf(state).every((rows) => rows.isFlushed) && this.#store.has(state.record),
    save: (state) => {
      for (const rows of tablesOf(state)) rows.flush();
      if (state.record !== null) this.#store.write(state.record);
    },
    send: (message) => this.#send(message),
    violated: (count) => this.#actor.state.memo.counting.violated("pool", count),
  });
  readonly #actor = this.#shell.actor;
  readonly #waits = new RunWaits();
  readonly #cloud = new Cloud(this.env);

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#actor.watch(() => this.#waits.changed(this.#actor.state));
  }

  /** The number of clients that wait for runs of this pool. */
  get waiting(): number {
    return this.#waits.size;
  }

  override async alarm(): Promise<void> {
    this.#shell.alarm();
  }

  #configured(): Configured {
    const { state } = this.#actor;
    if (state.record === null || isRemoved(state))
      throw new DroverError("unknown_pool", `there is no pool "${this.#name}"`);
    return { ...state, record: state.record };
  }

  #entered(): Configured {
    this.#shell.enter();
    return this.#configured();
  }

  async #send(message: PoolMessage): Promise<PoolEvent> {
    if (message.kind === "export_audit") return this.#audit.export(message);
    if (message.kind !== "list") return post(peersOf(this.env), message);
    const { provider } = this.#configured().record.config;
    return { type: "listed", ...(await this.#cloud.list(provider, message)) };
  }

  async deliver(message: Message<"pool">): Promise<Answer<"pool">> {
    this.#shell.count();
    const { type, body } = message;
    if (type === "run") this.#lists.noteKey(body.run, runKey(body.submittedAt, body.run));
    return receive(poolInbox, this.#actor, message, this.#shell.now());
  }

  async poke(all: boolean): Promise<void> {
    const state = this.#shell.enter({ type: "look" });
    if (all) await wakeAll(state, peersOf(this.env));
  }

  async violated(machine: string, count: number): Promise<void> {
    this.#actor.state.memo.counting.violated(machine, count);
    this.#shell.enter();
  }

  async explain(run: string): Promise<Why | null> {
    return explainRun(this.#entered(), run, this.#shell.now());
  }

  async takeCall(): Promise<number> {
    return takeCall(this.#shell.enter(), this.#shell.now());
  }

  async view(): Promise<PoolView> {
    return poolView(this.#entered(), this.#shell.now());
  }

  async queue(page: QueueStretch): Promise<QueuePage> {
    return queuePage(this.#entered(), page, this.#shell.now());
  }

  async events(after: number | null, waitMs: number): ReturnType<PoolApi["events"]> {
    this.#shell.enter();
    const read = (from: number | null) => eventsAfter(this.#configured(), from, this.#shell.now());
    const first = read(after);
    if (after === null || first.items.length > 0) return first;
    const isNews = () => hasEvents(this.#configured(), first.next);
    return (await until(this.#actor, isNews, waitMs)) ? read(first.next) : first;
  }

  async past<Kind extends keyof Past>(kind: Kind, request: PastRequest): Promise<Past[Kind]> {
    const disks = { runs: this.#runs, workers: this.#workers, hours: this.#hours };
    return pastOf(this.#entered(), disks, this.#shell.now())[kind](request);
  }

  async metrics(): ReturnType<PoolApi["metrics"]> {
    return metricsOf(this.#entered(), this.#shell.now());
  }

  async forget(run: RunRef, by: string, via?: Via): Promise<void> {
    const key = runKey(run.submittedAt, run.run);
    const { runs } = this.#shell.enter({ type: "unwanted", run, by, via });
    const gone = () => this.#actor.state.runs.get(key) === undefined;
    if (runs.get(key)?.forget && (await until(this.#actor, gone, ACKNOWLEDGE_MS))) return;
    const text = "the run has ended, but its deletion is not confirmed yet; try again";
    throw new DroverError("not_acknowledged", text, { retryAfterMs: 1_000 });
  }

  async invite(...[request]: Parameters<PoolApi["invite"]>): ReturnType<PoolApi["invite"]> {
    return invite(this.#actor, this.#entered().record, request, this.env.DROVER_SIGNING_KEY);
  }

  async list(filter: RunFilter, page: { limit: number; cursor?: string }): ReturnType<PoolApi["list"]> {
    const state = this.#entered();
    const mark = this.#waits.mark(state);
    return { ...this.#lists.list(state, filter, page, this.#shell.now()), mark };
  }

  async wait(question: RunWait, waitMs: number, mark?: string): Promise<RunNews | null> {
    const state = this.#entered();
    const { ids, all } = question;
    const rows = () => (ids ? this.#lists.rowsOf(state, ids) : all ? state.runs.live() : []);
    const news = await this.#waits.news(state, question, rows, waitMs, mark);
    // Whoever asks about all of them reads how many there are, and thousands of rows exceed an answer.
    const items = all ? [] : (news?.items ?? []);
    return news && { ...news, items: items.map((row) => listedRun(state, row, this.#shell.now())) };
  }

  async audit(...args: Parameters<PoolApi["audit"]>): ReturnType<PoolApi["audit"]> {
    return this.#audit.page(this.#shell.enter().audit, this.#shell.now(), ...args);
  }

  async auditAfter(...args: Parameters<PoolApi["auditAfter"]>): ReturnType<PoolApi["auditAfter"]> {
    this.#shell.enter();
    return this.#audit.after(this.#actor, ...args);
  }

  async workers(states: WorkerStateName[]): Promise<ListedWorker[]> {
    return workersOf(this.#entered(), states, this.#runs, this.#workers);
  }

  async ownerOf(worker: string): Promise<string | null> {
    return ownerOfWorker(this.#entered(), worker);
  }
}
