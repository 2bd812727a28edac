import { answerForget } from "../../src/core/allocation/forget.ts";
import { allocationFrom } from "../../src/core/allocation/load.ts";
import {
  type AllocationEvent,
  type AllocationMessage,
  allocationMachine,
} from "../../src/core/allocation/machine.ts";
import { answerObserved } from "../../src/core/allocation/placements/orders.ts";
import type { AllocationRecord, AllocationState } from "../../src/core/allocation/state.ts";
import { answerPlace } from "../../src/core/allocation/summary.ts";
import type { CreateAnswer, WorkerAnswer } from "../../src/core/messages.ts";
import { FORCED_REASON } from "../../src/core/pool/forced.ts";
import { loadedPool } from "../../src/core/pool/load.ts";
import { type PoolEvent, type PoolMessage, poolMachine } from "../../src/core/pool/machine.ts";
import { isLiveRun, isLiveWorker, type PoolRecord } from "../../src/core/pool/record.ts";
import { answerRun } from "../../src/core/pool/rows/runs.ts";
import { answerWorker } from "../../src/core/pool/rows/workers.ts";
import type { PoolState } from "../../src/core/pool/state.ts";
import { RETIREMENT } from "../../src/core/worker/life/behavior.ts";
import { type WorkerEventIn, type WorkerMessage, workerMachine } from "../../src/core/worker/machine.ts";
import { answerOrder } from "../../src/core/worker/placements.ts";
import { upsertOf as workerUpsertOf } from "../../src/core/worker/read/summary.ts";
import {
  isLivePlacement,
  loadedWorker,
  type PlacementRow,
  TRACKED_OF_PLACEMENTS,
  type WorkerRecord,
  type WorkerState,
} from "../../src/core/worker/state.ts";
import { heldReports, type WorkerActor } from "../../src/objects/host/exchange.ts";
import { HostLine, resumed } from "../../src/objects/host/host-line.ts";
import type { Machine } from "../../src/shared/machine.ts";
import { type Cloud, LIST_CONSISTENCY_MS } from "./cloud.ts";
import { Node } from "./node.ts";
import type { SimSocket } from "./socket.ts";
import type { World } from "./world.ts";

export type AllocationNode = Node<AllocationRecord, AllocationState, AllocationEvent, AllocationMessage>;
export type WorkerNode = Node<WorkerRecord, WorkerState, WorkerEventIn, WorkerMessage>;
export type PoolNode = Node<PoolRecord, PoolState, PoolEvent, PoolMessage>;

/** The machines under test: the real ones, or ones with a bug put in by hand. */
export interface Machines {
  allocation: Machine<AllocationState, AllocationEvent, AllocationMessage>;
  worker: Machine<WorkerState, WorkerEventIn, WorkerMessage>;
  pool: Machine<PoolState, PoolEvent, PoolMessage>;
}

export const REAL_MACHINES: Machines = {
  allocation: allocationMachine,
  worker: workerMachine,
  pool: poolMachine,
};

/** Who is told what has just been stored. */
export interface Audit {
  allocation(name: string, before: AllocationRecord | null, after: AllocationRecord | null): void;
  worker(name: string, before: WorkerRecord | null, after: WorkerRecord | null): void;
  /** The hosts, by their workers. */
  hosts: ReadonlyMap<string, { fallSilent(sockets: SimSocket[]): void }>;
}

/**
 * All objects of one simulation, wired to each other over its network, as their classes in `src/objects` are.
 */
export class Objects {
  readonly allocations = new Map<string, AllocationNode>();
  readonly workers = new Map<string, WorkerNode>();
  readonly pool: PoolNode;
  /** What the platform keeps for workers: their hosts' sockets; and each process's side of the exchange. */
  readonly #sockets = new Map<string, SimSocket[]>();
  readonly lines = new WeakMap<WorkerActor, HostLine>();
  /** How often each worker has told or asked a run something because of what its host says. */
  readonly askedBy = new Map<string, number>();
  readonly #world: World;
  readonly #machines: Machines;
  readonly #audit: Audit;
  cloud: Cloud | undefined;

  constructor(world: World, machines: Machines, audit: Audit) {
    this.#world = world;
    this.#machines = machines;
    this.#audit = audit;
    this.pool = this.#newPool();
  }

  *all(): Generator<{ name: string; kill(): void; bury(): void; clockJumped(): void }> {
    yield this.pool;
    yield* this.allocations.values();
    yield* this.workers.values();
  }

  allocation(run: string): AllocationNode {
    const node = this.allocations.get(run) ?? this.#newAllocation(run);
    this.allocations.set(run, node);
    return node;
  }

  worker(id: string): WorkerNode {
    const node = this.workers.get(id) ?? this.#newWorker(id);
    this.workers.set(id, node);
    return node;
  }

  socketsOf(worker: string): SimSocket[] {
    const open = (this.#sockets.get(worker) ?? []).filter(({ listed }) => listed);
    this.#sockets.set(worker, open);
    return open;
  }

  /** A host has asked for a socket, and gets one. */
  connected(worker: string, socket: SimSocket): void {
    this.#sockets.set(worker, [...this.socketsOf(worker), socket]);
  }

  #newAllocation(name: string): AllocationNode {
    const world = this.#world;
    return new Node(
      world,
      name,
      { type: "tick" },
      {
        machine: this.#machines.allocation,
        load: (disk, alarmAt) => allocationFrom(disk.value, alarmAt, world.planeNow),
        save: (disk, { record, tombstone }) => {
          disk.value = record ?? tombstone ?? null;
        },
        stored: (before, after) => this.#audit.allocation(name, before, after),
        send: async (message): Promise<AllocationEvent> => {
          if (message.kind === "upsert") {
            const { body } = message;
            const version = body.version;
            const answer = await world.call(name, "pool", `upsert v${version}`, () =>
              this.pool.serve((actor) =>
                answerRun(actor.apply({ type: "run", upsert: body }), body, world.planeNow),
              ),
            );
            return { type: "pool_answered", version, answer };
          }
          if (message.kind === "clear_logs") return { type: "logs_cleared" };
          const { body: order, to } = message;
          const answer = await world.call(name, to, `order ${order.epoch}.${order.revision}`, () =>
            this.worker(to).serve((actor) => {
              if (world.strikes("silentBeforeOrder"))
                this.#audit.hosts.get(to)?.fallSilent(this.socketsOf(to));
              const listening = this.lines.get(actor)?.listens === true || heldReports(actor) > 0;
              return answerOrder(actor.apply({ type: "order", order, listening }), order);
            }),
          );
          return { type: "order_answered", order, answer };
        },
      },
    );
  }

  #newWorker(name: string): WorkerNode {
    const world = this.#world;
    const node: WorkerNode = new Node(
      world,
      name,
      { type: "tick" },
      {
        machine: this.#machines.worker,
        load: (disk) => {
          const rows = node.rows<PlacementRow>("placements", isLivePlacement, TRACKED_OF_PLACEMENTS);
          return resumed(loadedWorker(disk.value, rows), this.socketsOf(name));
        },
        save: (disk, state) => {
          state.placements.flush();
          disk.value = state.record;
        },
        started: (actor, alive) => {
          const sockets = () => (alive() ? this.socketsOf(name) : []);
          this.lines.set(actor, new HostLine(actor, sockets, () => world.planeNow));
        },
        died: () => {
          for (const socket of this.socketsOf(name)) socket.cut();
        },
        stored: (before, after) => this.#audit.worker(name, before, after),
        send: (message) => this.#sendOfWorker(name, message),
      },
    );
    return node;
  }

  async #sendOfWorker(name: string, message: WorkerMessage): Promise<WorkerEventIn> {
    const world = this.#world;
    const call = <Reply>(to: string, what: string, serve: () => Promise<Reply>) =>
      world.call(name, to, what, serve);
    switch (message.kind) {
      case "create": {
        const noReply: CreateAnswer = { kind: "failed", failure: { class: "temporary", text: "no reply" } };
        // As the adapter does (`providers/http.ts`): a call without a reply is an answer of that class.
        const answer = await call("cloud", "create", async () => this.#theCloud.create(message.body)).catch(
          () => noReply,
        );
        return { type: "create_answered", answer };
      }
      case "destroy": {
        const answer = await call("cloud", "destroy", async () => this.#theCloud.destroy(name));
        return { type: "destroy_answered", answer };
      }
      case "upsert": {
        const { body: sent } = message;
        const answer = await call("pool", `upsert ${sent.phase}`, () =>
          this.pool.serve((actor) =>
            answerWorker(actor.apply({ type: "worker", upsert: sent }), sent, world.planeNow),
          ),
        );
        return { type: "pool_answered", sent, answer };
      }
      case "observed": {
        const { body: sent } = message;
        this.askedBy.set(name, (this.askedBy.get(name) ?? 0) + 1);
        const said = sent.attempts.map(({ id, state }) => `${id} ${state}`).join(", ");
        const answer = await call(sent.run, `observed ${said}`, () =>
          this.allocation(sent.run).serve((actor) =>
            answerObserved(actor.apply({ type: "observed", observed: sent }), sent, world.planeNow),
          ),
        );
        return { type: "observed_answered", sent, answer };
      }
      case "ended": {
        const { body: sent } = message;
        const answer = await call(sent.run, `ended ${sent.epoch} ${sent.how}`, () =>
          this.allocation(sent.run).serve((actor) => {
            const { record } = actor.apply({ type: "ended", ended: sent });
            return record === null ? ({ kind: "no_such" } as const) : ({ kind: "noted" } as const);
          }),
        );
        return { type: "ended_answered", sent, answer };
      }
    }
  }

  get #theCloud(): Cloud {
    if (this.cloud === undefined) throw new Error("the simulation has no cloud yet");
    return this.cloud;
  }

  #newPool(): PoolNode {
    const node: PoolNode = new Node(
      this.#world,
      "pool",
      { type: "tick" },
      {
        machine: this.#machines.pool,
        load: (disk) =>
          loadedPool(disk.value, node.rows("runs", isLiveRun), node.rows("workers", isLiveWorker)),
        save: (disk, state) => {
          state.runs.flush();
          state.workers.flush();
          disk.value = state.record;
        },
        stored: () => undefined,
        send: (message) => this.#sendOfPool(message),
      },
    );
    return node;
  }

  async #sendOfPool(message: PoolMessage): Promise<PoolEvent> {
    const world = this.#world;
    const { to } = message;
    switch (message.kind) {
      case "place": {
        const { body: place } = message;
        const answer = await world.call("pool", to, `place ${place.epoch} on ${place.worker}`, () =>
          this.allocation(to).serve((actor) => answerPlace(actor.apply({ type: "place", place }))),
        );
        return { type: "place_answered", key: message.key, poked: false, answer };
      }
      case "poke_run": {
        const answer = await world.call("pool", to, "poke", () =>
          this.allocation(to).serve((actor) => answerPlace(actor.apply({ type: "poke" }))),
        );
        return { type: "place_answered", key: message.key, poked: true, answer };
      }
      case "end_run": {
        const { body, key } = message;
        const { reason, by } = body;
        const answer = await world.call("pool", to, "end", () =>
          this.allocation(to).serve((actor) =>
            answerPlace(actor.apply({ type: "abort", reason, by, force: true })),
          ),
        );
        return { type: "end_answered", key, answer };
      }
      case "forget": {
        const { body: forget, key } = message;
        const answer = await world.call("pool", to, "forget", () =>
          this.allocation(to).serve((actor) => answerForget(actor.apply({ type: "forget", forget }))),
        );
        return { type: "forget_answered", key, answer };
      }
      case "list":
        return {
          type: "listed",
          answer: await world.call("pool", "cloud", "list", () => this.#theCloud.list()),
        };
      default: {
        const event = workerEventOf(message);
        const answer = await world.call("pool", to, message.kind, () =>
          this.worker(to).serve((actor) => workerViewOf(actor.apply(event), world.planeNow)),
        );
        return { type: "worker_answered", worker: to, poked: message.kind === "poke_worker", answer };
      }
    }
  }
}

function workerEventOf(
  message: Exclude<PoolMessage, { kind: "list" | "place" | "poke_run" | "end_run" | "forget" }>,
): WorkerEventIn {
  switch (message.kind) {
    case "create":
      return { type: "create", intent: message.body };
    case "sighting":
      return { type: "sighting", sighting: message.body, consistencyMs: LIST_CONSISTENCY_MS };
    case "kill_worker":
      return { type: "kill", reason: FORCED_REASON, by: message.by, force: true };
    case "drain_worker":
      return RETIREMENT;
    case "make_room":
      return { type: "make_room" };
    case "turn":
      return { type: "turn", version: message.version };
    case "poke_worker":
      return { type: "poke" };
  }
}

function workerViewOf(state: WorkerState, now: number): WorkerAnswer {
  if (state.record === null) return { kind: "no_such" };
  return { kind: "worker", worker: workerUpsertOf({ ...state, record: state.record }, now) };
}
