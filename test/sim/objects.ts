import { allocationInbox } from "../../src/core/allocation/inbox.ts";
import { allocationFrom } from "../../src/core/allocation/load.ts";
import {
  type AllocationEvent,
  type AllocationMessage,
  allocationMachine,
} from "../../src/core/allocation/machine.ts";
import type { AllocationRecord, AllocationState, Tombstone } from "../../src/core/allocation/state.ts";
import type { AuditRow } from "../../src/core/audit/entry.ts";
import { type ExportAnswered, type ExportMessage, nothingExported } from "../../src/core/audit/export.ts";
import { AuditTable } from "../../src/core/audit/table.ts";
import type { Message, Receiver } from "../../src/core/inbox.ts";
import { jobIdOf } from "../../src/core/job/ids.ts";
import { type JobRow, jobsOf, jobsToPoke, type RemovedJob } from "../../src/core/job/listed.ts";
import { jobMachine } from "../../src/core/job/machine.ts";
import { poolInbox } from "../../src/core/pool/inbox.ts";
import { loadedPool } from "../../src/core/pool/load.ts";
import { type PoolEvent, type PoolMessage, poolMachine } from "../../src/core/pool/machine.ts";
import type { HourRow } from "../../src/core/pool/past/hour-record.ts";
import { isLiveRun, isLiveWorker, type PoolRecord, type RunRow } from "../../src/core/pool/record.ts";
import { type PoolState, tablesOf } from "../../src/core/pool/state.ts";
import type { CreateAnswer, FindAnswer } from "../../src/core/provider-answers.ts";
import {
  type RegistryEvent,
  type RegistryMessage,
  type RegistryState,
  registryMachine,
} from "../../src/core/registry/machine.ts";
import { poolsOf, type RegistryRecord } from "../../src/core/registry/pools.ts";
import { arePokedAt } from "../../src/core/registry/webhooks.ts";
import { webhookInbox } from "../../src/core/webhook/inbox.ts";
import {
  type DeliverLetter,
  type WebhookEvent,
  type WebhookMessage,
  webhookMachine,
} from "../../src/core/webhook/machine.ts";
import {
  type DeliveryRow,
  deliveryKey,
  isLiveDelivery,
  type WebhookRecord,
  type WebhookState,
} from "../../src/core/webhook/record.ts";
import { frozenWith } from "../../src/core/worker/frozen.ts";
import { type WorkerEvent, type WorkerMessage, workerMachine } from "../../src/core/worker/machine.ts";
import {
  isLivePlacement,
  loadedWorker,
  type PlacementRow,
  TRACKED_OF_PLACEMENTS,
  type WorkerRecord,
  type WorkerState,
} from "../../src/core/worker/state.ts";
import type { WorkerActor } from "../../src/objects/host/exchange.ts";
import { HostSocketSession, resumeAll } from "../../src/objects/host/host-socket-session.ts";
import { type Mailboxes, post, receive } from "../../src/objects/messages/post.ts";
import type { Timer } from "../../src/objects/waiting.ts";
import type { Machine } from "../../src/shared/machine.ts";
import { registryOf } from "../core/support/registry.ts";
import { type Cloud, LIST_CONSISTENCY_MS } from "./cloud.ts";
import { type JobMachine, type JobNode, type JobWorld, jobNode } from "./jobs/node.ts";
import { Node } from "./node.ts";
import { NAMES } from "./operator.ts";
import { ENDPOINT, type EventReceiver } from "./receiver.ts";
import type { SimSocket } from "./socket.ts";
import type { World } from "./world.ts";

type StoredRun = AllocationRecord | Tombstone;
export type AllocationNode = Node<StoredRun, AllocationState, AllocationEvent, AllocationMessage>;
export type WorkerNode = Node<WorkerRecord, WorkerState, WorkerEvent, WorkerMessage>;
export type PoolNode = Node<PoolRecord, PoolState, PoolEvent, PoolMessage>;
type WebhookNode = Node<WebhookRecord, WebhookState, WebhookEvent, WebhookMessage>;
export type RegistryNode = Node<RegistryRecord, RegistryState, RegistryEvent, RegistryMessage>;

/** The machines under test: the real ones, or ones with a bug put in by hand. */
export interface Machines {
  webhook: Machine<WebhookState, WebhookEvent, WebhookMessage>;
  allocation: Machine<AllocationState, AllocationEvent, AllocationMessage>;
  worker: Machine<WorkerState, WorkerEvent, WorkerMessage>;
  pool: Machine<PoolState, PoolEvent, PoolMessage>;
  job: JobMachine;
}

export const REAL_MACHINES: Machines = {
  allocation: allocationMachine,
  worker: workerMachine,
  pool: poolMachine,
  webhook: webhookMachine,
  job: jobMachine,
};

/** The simulation has no bucket: what is due is exported at once. */
function exported({ from, before }: ExportMessage): ExportAnswered {
  return { type: "audit_exported", from, exported: { ...from, ...nothingExported(before) } };
}

/** Who is told what has just been stored. */
export interface Audit {
  allocation(name: string, before: StoredRun | null, after: StoredRun | null): void;
  worker(name: string, before: WorkerRecord | null, after: WorkerRecord | null): void;
  /** The receiver of events, and the hosts by their workers. */
  events: EventReceiver;
  hosts: ReadonlyMap<string, { fallSilent(sockets: SimSocket[]): void }>;
}

/**
 * All objects of one simulation, wired to each other over its network, as their classes in `src/objects` are.
 */
export class Objects {
  readonly allocations = new Map<string, AllocationNode>();
  readonly workers = new Map<string, WorkerNode>();
  readonly jobs = new Map<string, JobNode>();
  readonly pool: PoolNode;
  readonly webhook: WebhookNode;
  /** It is told of the pool when somebody wants to delete that: before, nothing of a story is up to it. */
  readonly registry: RegistryNode;
  /** What the platform keeps for workers: their hosts' sockets; and each process's side of the exchange. */
  readonly #sockets = new Map<string, SimSocket[]>();
  readonly lines = new WeakMap<WorkerActor, HostSocketSession>();
  /** How often each worker has told or asked a run something because of what its host says. */
  readonly askedBy = new Map<string, number>();
  readonly #world: World;
  readonly #machines: Machines;
  readonly #audit: Audit;
  /** The version of the agent that comes with the control plane. */
  agent = 1;
  cloud: Cloud | undefined;

  constructor(world: World, machines: Machines, audit: Audit) {
    this.#world = world;
    this.#machines = machines;
    this.#audit = audit;
    this.pool = this.#newPool();
    this.registry = this.#newRegistry();
    this.webhook = this.#newWebhook();
  }

  *all(): Generator<{ name: string; kill(): void; bury(): void; clockJumped(): void }> {
    yield this.pool;
    yield this.webhook;
    if (this.registry.disk.value !== null) yield this.registry;
    yield* this.allocations.values();
    yield* this.workers.values();
    yield* this.jobs.values();
  }

  /** What the cron trigger pokes: the registry, each pool that there is, and at times endpoints and jobs. */
  *poked(): Generator<() => Promise<unknown>> {
    const { value: record } = this.registry.disk;
    if (record !== null) yield () => this.registry.serve((actor) => void actor.apply({ type: "tick" }));
    const isToldOfPool = record?.pools[NAMES.pool] !== undefined;
    if (!isToldOfPool || poolsOf({ record }).length > 0)
      yield () => this.pool.serve((actor) => void actor.apply({ type: "look" }));
    if (arePokedAt(this.#world.planeNow))
      yield () => this.webhook.serve((actor) => void actor.apply({ type: "tick" }));
    if (!arePokedAt(this.#world.planeNow)) return;
    const listed = this.registry.rows<JobRow>("jobs", () => true);
    for (const job of jobsToPoke(jobsOf(listed, null), false, this.#world.planeNow)) {
      const node = this.jobs.get(jobIdOf(job));
      if (node !== undefined) yield () => node.serve((actor) => void actor.apply({ type: "tick" }));
    }
  }

  job(id: string, around: JobWorld): JobNode {
    const node = this.jobs.get(id) ?? jobNode(id, this.#machines.job, around);
    this.jobs.set(id, node);
    return node;
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
        send: async (message): Promise<AllocationEvent> =>
          message.kind === "clear_logs" ? { type: "logs_cleared" } : post(this.#mailboxes(name), message),
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
          return resumeAll(loadedWorker(disk.value, rows), this.socketsOf(name));
        },
        save: (disk, state) => {
          state.placements.flush();
          disk.value = state.record;
        },
        started: (actor, alive) => {
          const sockets = () => (alive() ? this.socketsOf(name) : []);
          const later: Timer = (ms, happen) => world.time.after(ms, () => alive() && happen());
          this.lines.set(actor, new HostSocketSession(actor, sockets, () => world.planeNow, later));
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

  async #sendOfWorker(name: string, message: WorkerMessage): Promise<WorkerEvent> {
    const world = this.#world;
    switch (message.kind) {
      case "create": {
        const noReply: CreateAnswer = { kind: "failed", failure: { class: "temporary", text: "no reply" } };
        // As the adapter does (`providers/http.ts`): a call without a reply is an answer of that class.
        const answer = await world
          .call(name, "cloud", "create", async () => this.#theCloud.create(message.body))
          .catch(() => noReply);
        return { type: "create_answered", answer };
      }
      case "destroy": {
        const answer = await world.call(name, "cloud", "destroy", async () =>
          this.#theCloud.destroy(name, message.body.instance ?? ""),
        );
        return { type: "destroy_answered", answer };
      }
      case "find": {
        const unsure: FindAnswer = { kind: "unsure", text: "no reply" };
        const answer = await world
          .call(name, "cloud", "find", async () => this.#theCloud.find(name, message.body.instance))
          .catch(() => unsure);
        return { type: "find_answered", answer };
      }
      case "observed":
        this.askedBy.set(name, (this.askedBy.get(name) ?? 0) + 1);
    }
    return post(this.#mailboxes(name), message);
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
          loadedPool(
            disk.value,
            node.rows("runs", isLiveRun),
            node.rows("workers", isLiveWorker),
            new AuditTable(
              node.rows<AuditRow>("audit", () => false),
              Number(node.lastEnded("audit") ?? "0"),
            ),
            node.rows<HourRow>("hours", () => false),
          ),
        save: (disk, state) => {
          for (const { after } of state.runs.changes()) this.#audit.events.stored(after);
          for (const rows of tablesOf(state)) rows.flush();
          disk.value = state.record;
        },
        stored: () => undefined,
        send: (message) => this.#sendOfPool(message),
      },
    );
    return node;
  }

  #newRegistry(): RegistryNode {
    const node: RegistryNode = new Node(
      this.#world,
      "registry",
      { type: "tick" },
      {
        machine: registryMachine,
        load: (disk) => ({
          ...registryOf(disk.value),
          jobs: node.rows<JobRow>("jobs", () => true),
          removedJobs: node.rows<RemovedJob>("removed_jobs", () => false),
        }),
        save: (disk, { record, jobs, removedJobs }) => {
          jobs.flush();
          removedJobs.flush();
          disk.value = record;
        },
        stored: () => undefined,
        send: async (message): Promise<RegistryEvent> => {
          if (message.kind === "export_audit") return exported(message);
          if (message.object === "vault") throw new Error("the simulator has no wrapping keys");
          return post(this.#mailboxes("registry"), message);
        },
      },
    );
    return node;
  }

  #newWebhook(): WebhookNode {
    const node: WebhookNode = new Node(
      this.#world,
      ENDPOINT,
      { type: "tick" },
      {
        machine: this.#machines.webhook,
        load: (disk) => ({
          record: disk.value,
          deliveries: node.rows<DeliveryRow>("deliveries", isLiveDelivery),
          memo: { url: "https://drover.test", forgotAt: 0, clockAt: 0, news: {} },
        }),
        save: (disk, state) => {
          if (isPlaced(state.record) && !isPlaced(disk.value)) this.#audit.events.firstRead(this.#runRows());
          state.deliveries.flush();
          disk.value = state.record;
        },
        stored: () => undefined,
        send: async (message): Promise<WebhookEvent> => {
          if (message.kind === "audit") throw new Error("nobody does anything to the endpoint of a story");
          if (message.kind === "deliver") return this.#attempt(message);
          return post(this.#mailboxes(ENDPOINT), message);
        },
      },
    );
    return node;
  }

  #runRows(): RunRow[] {
    return [...(this.pool.disk.tables.get("runs")?.values() ?? [])] as RunRow[];
  }

  /** As `objects/webhooks/send.ts` does: whatever goes wrong is an outcome. */
  async #attempt({ number, tries }: DeliverLetter): Promise<WebhookEvent> {
    const noReply = { status: null, durationMs: 1, problem: "no reply", answer: null, retryAfterMs: null };
    // Only its machine writes them, and sends of none that is not there.
    const row = this.webhook.disk.tables.get("deliveries")?.get(deliveryKey(number)) as DeliveryRow;
    const { life } = this.webhook;
    const outcome = await this.#world
      .call(ENDPOINT, "receiver", row.type, () => this.#audit.events.take(row, life !== this.webhook.life))
      .catch(() => noReply);
    return { type: "attempted", number, tries, outcome };
  }

  async #sendOfPool(message: PoolMessage): Promise<PoolEvent> {
    if (message.kind === "export_audit") return exported(message);
    if (message.kind !== "list") return post(this.#mailboxes("pool"), message);
    const answer = await this.#world.call("pool", "cloud", "list", () => this.#theCloud.list(message.known));
    return { type: "listed", answer, consistencyMs: LIST_CONSISTENCY_MS };
  }

  /** The objects' own inboxes, at the other end of the network. */
  #mailboxes(from: string): Mailboxes {
    const world = this.#world;
    const call = <Reply>(to: string, message: Message<Receiver>, serve: () => Promise<Reply>) =>
      world.call(from, to, nameOf(message), serve);
    return {
      allocation: (run) => ({
        deliver: (message) =>
          call(run, message, () =>
            this.allocation(run).serve((actor) => receive(allocationInbox, actor, message, world.planeNow)),
          ),
      }),
      worker: (id) => ({
        deliver: (message) =>
          call(id, message, () =>
            this.worker(id).serve((actor) => {
              if (message.type === "order" && world.strikes("silentBeforeOrder"))
                this.#audit.hosts.get(id)?.fallSilent(this.socketsOf(id));
              const facts = { url: "http://drover.sim", agentSha256: `agent ${this.agent}` };
              return this.#lineOf(actor).deliver(frozenWith(message, facts));
            }),
          ),
      }),
      webhook: () => ({
        deliver: (message) =>
          call(ENDPOINT, message, () =>
            this.webhook.serve((actor) => receive(webhookInbox, actor, message, world.planeNow)),
          ),
      }),
      pool: () => ({
        deliver: (message) =>
          call("pool", message, () =>
            this.pool.serve((actor) => receive(poolInbox, actor, message, world.planeNow)),
          ),
      }),
    };
  }

  #lineOf(actor: WorkerActor): HostSocketSession {
    const line = this.lines.get(actor);
    if (line === undefined) throw new Error("a worker was started without its side of the exchange");
    return line;
  }
}

/** Whether the endpoint of a story has read its pool. */
function isPlaced(record: WebhookRecord | null): boolean {
  return Object.values(record?.cursors ?? {}).some(({ placed }) => placed);
}

/** A message, as stories tell it. */
function nameOf(message: Message<Receiver>): string {
  switch (message.type) {
    case "run":
      return `run v${message.body.version}`;
    case "worker":
      return `worker ${message.body.phase}`;
    case "order":
      return `order ${message.body.epoch}.${message.body.revision}`;
    case "observed":
      return `observed ${message.body.attempts.map(({ id, state }) => `${id} ${state}`).join(", ")}`;
    case "ended":
      return `ended ${message.body.epoch} ${message.body.how}`;
    case "place":
      return `place ${message.body.epoch} on ${message.body.worker}`;
    default:
      return message.type;
  }
}
