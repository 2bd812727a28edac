import { DurableObject } from "cloudflare:workers";
import type { IdleBehavior, Intent, Order, OrderAnswer, Sighting, WorkerAnswer } from "../core/messages.ts";
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
import { parseReport } from "./host-calls.ts";
import { type Door, enrollHost, joinHost, refusing, verifyHost, wrongWorker } from "./host-door.ts";
import type { CloudWorkerPeer } from "./peers.ts";
import type { CloudWorkerApi, SignedCall } from "./rpc.ts";
import { Shell } from "./shell.ts";
import { SqlRowDisk, ValueStore } from "./store.ts";
import { peersOf } from "./stubs.ts";

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

  get #name(): string {
    return this.ctx.id.name ?? "";
  }

  get #door(): Door {
    return { actor: this.#actor, name: this.#name, env: this.env };
  }

  async #send(message: WorkerMessage): Promise<WorkerEventIn> {
    const peers = peersOf(this.env);
    switch (message.kind) {
      case "create":
        return { type: "create_answered", answer: await createInstance(this.env, message.body) };
      case "destroy": {
        const { provider, instance } = message.body;
        return { type: "destroy_answered", answer: await destroyInstance(provider, instance) };
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

  async create(intent: Intent): Promise<WorkerAnswer> {
    return this.#answer(this.#shell.enter({ type: "create", intent }));
  }

  async sighting(sighting: Sighting): Promise<WorkerAnswer> {
    const { record } = this.#actor.state;
    if (record === null) return { kind: "no_such" };
    const consistencyMs = providerOf(sighting.provider).capabilities.listConsistencyMs;
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
    this.#shell.enter();
    return enrollHost(this.#door, request);
  }

  async join(call: SignedCall): Promise<HostSetup> {
    this.#shell.count();
    return joinHost(this.#door, call);
  }

  async report(call: SignedCall, waitMs: number): Promise<Orders> {
    this.#shell.count();
    await verifyHost(this.#door, call);
    const report = parseReport(call.body);
    return refusing(this.#door, () => {
      const { worker = this.#name } = report;
      if (worker !== this.#name) throw wrongWorker(worker, this.#name);
      return exchange(this.#actor, report, waitMs, () => Date.now());
    });
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
