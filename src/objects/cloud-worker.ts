import { DurableObject } from "cloudflare:workers";
import { DroverError } from "../core/errors.ts";
import type { CreateWorker, Order, OrderAnswer, Sighting, WorkerAnswer } from "../core/messages.ts";
import { Rows } from "../core/rows.ts";
import { type WorkerEventIn, type WorkerMessage, workerMachine } from "../core/worker/machine.ts";
import { answerOrder } from "../core/worker/placements.ts";
import { judgeReport, ordersFor } from "../core/worker/report.ts";
import {
  type Living,
  loadedWorker,
  ordersRevision,
  type PlacementRow,
  type WorkerRecord,
  type WorkerState,
} from "../core/worker/state.ts";
import { statusOf, whyOf } from "../core/worker/status.ts";
import { upsertOf } from "../core/worker/summary.ts";
import type { EnrollRequest, HostSetup, Orders } from "../schema/host.ts";
import type { WorkerStatus } from "../schema/pool.ts";
import type { Why } from "../schema/run.ts";
import { Actor } from "./actor.ts";
import { LazyAlarm } from "./alarm.ts";
import { createInstance, destroyInstance, providerOf } from "./cloud.ts";
import type { Env } from "./env.ts";
import { hostSetup, parseJoin, parseReport } from "./host-calls.ts";
import { meter } from "./meter.ts";
import type { CloudWorkerPeer } from "./peers.ts";
import { logFailure } from "./report-failure.ts";
import type { CloudWorkerApi, SignedCall } from "./rpc.ts";
import { verifyCall, verifyCode } from "./signing.ts";
import { SqlRowDisk, ValueStore } from "./store.ts";
import { peersOf } from "./stubs.ts";
import { after, until } from "./waiting.ts";

/** How long a report's answer waits for the allocations that it concerns: their answers are in the orders then. */
const OBSERVED_WAIT_MS = 5_000;
/** A refused host is noted at most this often: each note is a row, and anybody can knock. */
const NOTE_REFUSAL_MS = 60_000;

/** The object that is a cloud machine. What it decides is in `core/worker`. */
export class CloudWorker extends DurableObject<Env> implements CloudWorkerApi, CloudWorkerPeer {
  readonly #alarm = new LazyAlarm(this.ctx.storage);
  readonly #store = new ValueStore<WorkerRecord>(this.ctx.storage);
  readonly #placements = new SqlRowDisk<PlacementRow>(this.ctx.storage.sql, "placements");
  readonly #actor = new Actor<WorkerState, WorkerEventIn, WorkerMessage>(workerMachine, {
    now: () => Date.now(),
    load: () => loadedWorker(this.#store.read(), new Rows(this.#placements, () => true), Date.now()),
    commit: (write) => this.ctx.storage.transactionSync(write),
    save: (state) => {
      state.placements.flush();
      if (state.record !== null) this.#store.write(state.record);
    },
    wake: (at) => this.#alarm.arm(at, Date.now()),
    send: (message) => this.#send(message),
    failed: (message, error, tries) => logFailure(this.#name, message, error, tries),
  });
  #refusalNotedAt = 0;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    void ctx.blockConcurrencyWhile(() => this.#alarm.load());
  }

  get #name(): string {
    return this.ctx.id.name ?? "";
  }

  async #send(message: WorkerMessage): Promise<WorkerEventIn> {
    const peers = peersOf(this.env);
    switch (message.kind) {
      case "create":
        return { type: "create_answered", answer: await createInstance(this.env, message.body) };
      case "destroy": {
        const { provider } = this.#living().record.intent;
        return { type: "destroy_answered", answer: await destroyInstance(provider, message.body.instance) };
      }
      case "upsert":
        return {
          type: "pool_answered",
          sent: message.body,
          answer: await peers.pool(message.to).upsertWorker(message.body),
        };
      case "observed": {
        const answer = await peers.allocation(message.body.run).observed(message.body);
        return { type: "observed_answered", sent: message.body, answer };
      }
      case "ended":
        return {
          type: "ended_answered",
          sent: message.body,
          answer: await peers.allocation(message.body.run).ended(message.body),
        };
    }
  }

  override async alarm(): Promise<void> {
    this.#alarm.fired();
    this.#enter();
  }

  /** Every entry is billed, lets time do its work, and repairs what a crash may have left unsaid. */
  #enter(event: WorkerEventIn = { type: "tick" }): WorkerState {
    meter.requests += 1;
    return this.#actor.apply(event);
  }

  #living(): Living {
    const { state } = this.#actor;
    if (state.record === null) throw new DroverError("unknown_worker", `there is no worker "${this.#name}"`);
    return { ...state, record: state.record };
  }

  async create(intent: CreateWorker): Promise<WorkerAnswer> {
    return this.#answer(this.#enter({ type: "create", intent }));
  }

  async sighting(sighting: Sighting): Promise<WorkerAnswer> {
    const { record } = this.#actor.state;
    if (record === null) return { kind: "no_such" };
    const consistencyMs = providerOf(record.intent.provider).capabilities.listConsistencyMs;
    return this.#answer(this.#enter({ type: "sighting", sighting, consistencyMs }));
  }

  async poke(): Promise<WorkerAnswer> {
    return this.#answer(this.#enter({ type: "poke" }));
  }

  #answer(state: WorkerState): WorkerAnswer {
    if (state.record === null) return { kind: "no_such" };
    return { kind: "worker", worker: upsertOf({ ...state, record: state.record }, Date.now()) };
  }

  async order(order: Order): Promise<OrderAnswer> {
    return answerOrder(this.#enter({ type: "order", order }), order);
  }

  async enroll(request: EnrollRequest): Promise<HostSetup> {
    const { record } = this.#enter();
    await this.#refusing(() => verifyCode(request.code, this.#name, this.env.DROVER_SIGNING_KEY, Date.now()));
    if (record === null || record.phase === "shutdown" || record.phase === "gone") {
      throw new DroverError(
        "enrollment_over",
        `worker "${this.#name}" is over; this machine is not wanted any more`,
      );
    }
    this.#actor.apply({ type: "enroll", secret: request.secret, bootId: request.bootId });
    return this.#refusing(async () => {
      if (this.#living().record.secret === request.secret) return hostSetup(this.#living(), this.env);
      throw new DroverError("code_used", "this enrollment code has been used, with another secret");
    });
  }

  async join(call: SignedCall): Promise<HostSetup> {
    await this.#verified(call);
    const { bootId } = parseJoin(call.body);
    this.#actor.apply({ type: "join", id: call.id, bootId });
    return hostSetup(this.#living(), this.env);
  }

  async report(call: SignedCall, waitMs: number): Promise<Orders> {
    await this.#verified(call);
    const report = parseReport(call.body);
    const verdict = judgeReport(this.#living(), report);
    if (verdict === "stale" || verdict === "unknown") {
      const text = `incarnation ${report.incarnation} is not the latest start of this host's agent: stop everything and exit`;
      throw new DroverError("stale_incarnation", text);
    }
    this.#actor.apply({ type: "report", report });
    await this.#actor.settled(["observed"], after(OBSERVED_WAIT_MS));
    const news = () =>
      ordersRevision(this.#living()) > report.ordersSeen || this.#actor.state.memo.lastSeq > report.seq;
    const over = () => this.#living().record.phase === "shutdown";
    await until(this.#actor, () => news() || over(), verdict === "fresh" ? waitMs : 0);
    this.#actor.apply({ type: "told" });
    return ordersFor(this.#living(), report.seq, Date.now());
  }

  async #verified(call: SignedCall): Promise<void> {
    this.#enter();
    const { secret } = this.#living().record;
    await this.#refusing(async () => {
      if (secret === null) throw new DroverError("bad_signature", "no host has enrolled for this worker");
      await verifyCall(call, secret, Date.now());
    });
  }

  /** Whoever is refused is noted with the worker: a clone, or a thief, shall be seen. */
  async #refusing<T>(check: () => Promise<T>): Promise<T> {
    try {
      return await check();
    } catch (error) {
      const due = Date.now() - this.#refusalNotedAt >= NOTE_REFUSAL_MS && this.#actor.state.record !== null;
      if (due && error instanceof DroverError) {
        this.#refusalNotedAt = Date.now();
        this.#actor.apply({ type: "refused_host", reason: error.message });
      }
      throw error;
    }
  }

  async read(): Promise<WorkerStatus> {
    this.#enter();
    return statusOf(this.#living(), Date.now());
  }

  async why(): Promise<Why> {
    this.#enter();
    return whyOf(this.#living(), Date.now());
  }

  async drain(by: string): Promise<WorkerStatus> {
    this.#enter({ type: "behavior", behavior: "drain", by });
    return statusOf(this.#living(), Date.now());
  }

  async kill({ reason, by }: { reason: string; by: string }): Promise<WorkerStatus> {
    this.#enter({ type: "kill", reason, by });
    return statusOf(this.#living(), Date.now());
  }
}
