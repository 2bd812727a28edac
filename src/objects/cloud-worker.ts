import { DurableObject } from "cloudflare:workers";
import { DroverError } from "../core/errors.ts";
import type {
  CreateWorker,
  IdleBehavior,
  Order,
  OrderAnswer,
  Sighting,
  WorkerAnswer,
} from "../core/messages.ts";
import { Rows } from "../core/rows.ts";
import { type WorkerEventIn, type WorkerMessage, workerMachine } from "../core/worker/machine.ts";
import { answerOrder } from "../core/worker/placements.ts";
import {
  isLivePlacement,
  type Living,
  loadedWorker,
  type PlacementRow,
  TRACKED_OF_PLACEMENTS,
  type WorkerRecord,
  type WorkerState,
} from "../core/worker/state.ts";
import { statusOf, whyOf } from "../core/worker/status.ts";
import { upsertOf } from "../core/worker/summary.ts";
import type { EnrollRequest, HostSetup, Orders } from "../schema/host.ts";
import type { WorkerStatus } from "../schema/pool.ts";
import type { Why } from "../schema/run.ts";
import { createInstance, destroyInstance, providerOf } from "./cloud.ts";
import type { Env } from "./env.ts";
import { exchange, livingWorker } from "./exchange.ts";
import { hostSetup, parseJoin, parseReport } from "./host-calls.ts";
import type { CloudWorkerPeer } from "./peers.ts";
import type { CloudWorkerApi, SignedCall } from "./rpc.ts";
import { Shell } from "./shell.ts";
import { verifyCall, verifyCode } from "./signing.ts";
import { SqlRowDisk, ValueStore } from "./store.ts";
import { peersOf } from "./stubs.ts";

/** A refused host is noted at most this often: each note is a row, and anybody can knock. */
const NOTE_REFUSAL_MS = 60_000;

/** The object that is a cloud machine. What it decides is in `core/worker`. */
export class CloudWorker extends DurableObject<Env> implements CloudWorkerApi, CloudWorkerPeer {
  readonly #store = new ValueStore<WorkerRecord>(this.ctx.storage);
  readonly #placements = new SqlRowDisk<PlacementRow>(this.ctx.storage.sql, "placements");
  readonly #shell = new Shell<WorkerState, WorkerEventIn, WorkerMessage>(
    this.ctx,
    workerMachine,
    { type: "tick" },
    {
      load: () =>
        loadedWorker(this.#store.read(), new Rows(this.#placements, isLivePlacement, TRACKED_OF_PLACEMENTS)),
      save: (state) => {
        state.placements.flush();
        if (state.record !== null) this.#store.write(state.record);
      },
      send: (message) => this.#send(message),
    },
  );
  readonly #actor = this.#shell.actor;
  #refusalNotedAt = 0;

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
    this.#shell.alarm();
  }

  #living(): Living {
    return livingWorker(this.#actor, this.#name);
  }

  async create(intent: CreateWorker): Promise<WorkerAnswer> {
    return this.#answer(this.#shell.enter({ type: "create", intent }));
  }

  async sighting(sighting: Sighting): Promise<WorkerAnswer> {
    const { record } = this.#actor.state;
    if (record === null) return { kind: "no_such" };
    const consistencyMs = providerOf(record.intent.provider).capabilities.listConsistencyMs;
    return this.#answer(this.#shell.enter({ type: "sighting", sighting, consistencyMs }));
  }

  async poke(): Promise<WorkerAnswer> {
    return this.#answer(this.#shell.enter({ type: "poke" }));
  }

  #answer(state: WorkerState): WorkerAnswer {
    if (state.record === null) return { kind: "no_such" };
    return { kind: "worker", worker: upsertOf({ ...state, record: state.record }, Date.now()) };
  }

  async order(order: Order): Promise<OrderAnswer> {
    return answerOrder(this.#shell.enter({ type: "order", order }), order);
  }

  async enroll(request: EnrollRequest): Promise<HostSetup> {
    const { record } = this.#shell.enter();
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
    return exchange(this.#actor, report, waitMs, () => Date.now());
  }

  async #verified(call: SignedCall): Promise<void> {
    const secret = await this.hostSecret();
    await this.#refusing(() => verifyCall(call, secret, Date.now()));
  }

  async hostSecret(): Promise<string | null> {
    this.#shell.count();
    return this.#living().record.secret;
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
    this.#shell.enter();
    return statusOf(this.#living(), Date.now());
  }

  async why(): Promise<Why> {
    this.#shell.enter();
    return whyOf(this.#living(), Date.now());
  }

  async setBehavior(behavior: IdleBehavior, by: string): Promise<WorkerStatus> {
    this.#shell.enter({ type: "behavior", behavior, by });
    return statusOf(this.#living(), Date.now());
  }

  async kill({ reason, by }: { reason: string; by: string }): Promise<WorkerStatus> {
    this.#shell.enter({ type: "kill", reason, by });
    return statusOf(this.#living(), Date.now());
  }
}
