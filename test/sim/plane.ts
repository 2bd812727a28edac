import { resourcesOfType } from "../../src/core/spec.ts";
import { isLateJoin, isSupersededJoin } from "../../src/core/worker/host/enrollment.ts";
import type { WorkerState } from "../../src/core/worker/state.ts";
import { exchange } from "../../src/objects/host/exchange.ts";
import type { Timer } from "../../src/objects/waiting.ts";
import type { Resources } from "../../src/schema/common.ts";
import type { HostSetup, Orders, Report } from "../../src/schema/host.ts";
import { DroverError } from "../../src/shared/errors.ts";
import type { ControlPlane } from "./host.ts";
import type { Objects, WorkerNode } from "./objects.ts";
import { type HostEnd, SimSocket } from "./socket.ts";
import { NoReply, type World } from "./world.ts";

/** What a self-hosted machine has. */
const RESOURCES = { vcpus: 3, memoryBytes: 2 ** 34, diskBytes: 2 ** 34, gpus: 0 };

/** Which attempts have secrets: the first ones of some runs. What others do must not hide what these need. */
const HAS_SECRETS = /^[^/]*[37]\/[^/]*\/\d+\.1$/;

/** Of the memory that a type should have, what its machines have. */
const SHARE_OF_MEMORY = 0.97;

/** What a host measures: of a machine of the cloud not all that its type says. */
function resourcesOn({ record }: WorkerState): Resources {
  if (record === null || record.intent.kind === "self-hosted") return RESOURCES;
  const says = resourcesOfType(record.intent.type);
  return { ...says, memoryBytes: Math.floor(says.memoryBytes * SHARE_OF_MEMORY) };
}

/** What the edge and the worker's object do with a host's calls. */
export class Plane implements ControlPlane {
  readonly #world: World;
  readonly #objects: Objects;
  readonly #worker: string;
  readonly #node: WorkerNode;
  readonly #boots: () => number;
  readonly #timer: Timer;
  /** Where a host is, a socket may not get through: then it works by webhook alone. */
  readonly #sockets: boolean;
  /** What its host says that it has measured; absent: what there is. */
  readonly #measured: Resources | undefined;

  /** `boots`: how often the machine has booted. */
  constructor(
    world: World,
    objects: Objects,
    worker: string,
    boots: () => number,
    timer: Timer,
    measured?: Resources,
  ) {
    this.#measured = measured;
    this.#world = world;
    this.#objects = objects;
    this.#worker = worker;
    this.#node = objects.worker(worker);
    this.#boots = boots;
    this.#timer = timer;
    this.#sockets = world.chance.chance(0.5);
  }

  enroll(): Promise<HostSetup> {
    const event = {
      type: "enroll" as const,
      secret: this.#worker,
      bootId: this.#bootId(),
    };
    return this.#call("enroll", () =>
      this.#node.serve((actor) => {
        const measured = { ...event, resources: this.#measured ?? resourcesOn(actor.state) };
        return setupOf(actor.apply(measured), this.#sockets);
      }),
    );
  }

  join(id: string): Promise<HostSetup> {
    const event = { type: "join" as const, id, signedAt: this.#world.planeNow, bootId: this.#bootId() };
    return this.#call("join", () =>
      this.#node.serve((actor) => {
        const { record } = actor.state;
        if (record !== null && isSupersededJoin(record, id)) throw new NoReply("a later start has joined");
        if (record !== null && isLateJoin(record, event)) throw new NoReply("signed before the latest join");
        return setupOf(actor.apply(event), this.#sockets);
      }),
    );
  }

  report(report: Report, waitMs: number): Promise<Orders | "stale"> {
    return this.#call(`report ${report.seq}`, () => this.#serveReport(report, waitMs));
  }

  connect(host: HostEnd): Promise<SimSocket> {
    return this.#call("connect", () => this.#serveSocket(host));
  }

  secrets(attempt: string): void {
    if (!HAS_SECRETS.test(attempt)) return;
    const [run = ""] = attempt.split("/");
    const handed = { type: "secrets_handed", names: ["token"], run, attempt } as const;
    this.#call("secrets", () => this.#node.serve((actor) => actor.apply(handed))).catch(() => undefined);
  }

  #call<Reply>(what: string, serve: () => Promise<Reply>): Promise<Reply> {
    return this.#world.call(`host of ${this.#worker}`, this.#worker, what, serve);
  }

  #bootId(): string {
    return `boot ${this.#boots()} of ${this.#worker}`;
  }

  #serveSocket(host: HostEnd): Promise<SimSocket> {
    const receive = (socket: SimSocket, report: Report) =>
      void this.#node
        .serve((actor) => {
          this.#world.tell(this.#worker, `hears report ${report.seq}${report.full ? ", full" : ""}`);
          this.#objects.lines.get(actor)?.received(socket, () => report);
        })
        .catch(() => undefined);
    return this.#node.serve((actor) => {
      if (actor.state.record === null) throw new NoReply("no such worker");
      const socket = new SimSocket(this.#world, host, receive);
      this.#objects.connected(this.#worker, socket);
      return socket;
    });
  }

  #serveReport(report: Report, waitMs: number): Promise<Orders | "stale"> {
    return this.#node.serve(async (actor) => {
      try {
        return await exchange(actor, report, waitMs, () => this.#world.planeNow, this.#timer);
      } catch (error) {
        if (error instanceof DroverError && error.code === "stale_incarnation") return "stale";
        if (error instanceof DroverError) throw new NoReply(error.code);
        throw error;
      }
    });
  }
}

function setupOf(state: WorkerState, sockets: boolean): HostSetup {
  const { record } = state;
  if (record === null) throw new NoReply("no such worker");
  if (record.phase === "shutdown" || record.phase === "gone") throw new NoReply("it is over");
  const { worker, settings } = record.intent;
  return {
    worker,
    incarnation: record.incarnation,
    reportUrl: worker,
    ...(sockets ? { socketUrl: worker } : {}),
    probe: { intervalMs: settings.probeIntervalMs, boot: settings.bootCommand },
    leaseMs: settings.leaseMs,
    agent: { version: "sim", sha256: "" },
  };
}
