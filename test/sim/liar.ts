import type { AttemptReport, HostSetup, Orders, Report } from "../../src/schema/host.ts";
import { type ControlPlane, MEANS } from "./host.ts";
import type { SimSocket } from "./socket.ts";
import { NoReply, type World } from "./world.ts";

/** What a liar knows of a run: its name, and those of its tasks. Whoever can guess names knows as much. */
export interface Target {
  run: string;
  tasks: string[];
}

const STATES: AttemptReport["state"][] = ["preparing", "running", "stopping", "uploading", "exited", "gone"];
const HIGHEST_EPOCH = 6;
const HIGHEST_ATTEMPT = 3;
const MOST_CLAIMS = 120;
/** It speaks without a pause, or now and then. */
const PAUSES_MS = [1, 50, 5_000];
const HUGE = 2 ** 48;

/** How many of its claims are about attempts that it was ordered to run. */
const SHARE_OF_OWN = 0.5;

/**
 * A host that lies: a self-hosted machine whose agent says anything that the schema allows, as often as it
 * likes: of runs that were placed there, if anything has room there, and of runs that were not. It is
 * believed within bounds, and about its own runs alone. So for the runs of others all invariants hold as if
 * it were not there.
 */
export class Liar {
  readonly worker: string;
  /** Reports that have left it. */
  reports = 0;
  readonly #world: World;
  readonly #plane: ControlPlane;
  readonly #targets: Target[];
  /** Whether runs may be placed on it. */
  readonly #hasRoom: boolean;
  /** Attempts that it was ordered to run. */
  readonly #ordered = new Set<string>();
  #setup: HostSetup | undefined;
  #socket: SimSocket | undefined;
  #seq = 0;
  over = false;

  constructor(world: World, worker: string, plane: ControlPlane, targets: Target[], hasRoom: boolean) {
    this.#world = world;
    this.worker = worker;
    this.#plane = plane;
    this.#targets = targets;
    this.#hasRoom = hasRoom;
  }

  /** What ends a machine, one that shall get runs says seldom: by then it has had some. */
  get #farewell(): number {
    return this.#hasRoom ? 0.0005 : 1;
  }

  /** Enrolls, and lies until it is over. */
  async live(): Promise<void> {
    const { chance, time } = this.#world;
    while (!this.over) {
      try {
        await this.#speak();
      } catch (error) {
        if (!(error instanceof NoReply)) throw error;
      }
      await time.sleep(chance.pick(PAUSES_MS) ?? 1);
    }
    this.#socket?.abandon();
  }

  async #speak(): Promise<void> {
    const { chance } = this.#world;
    if (this.#setup === undefined || chance.chance(0.02)) {
      this.#setup = await (this.#setup === undefined
        ? this.#plane.enroll()
        : this.#plane.join(`start of ${this.reports}`));
      this.#seq = 0;
    }
    if (this.#setup.socketUrl !== undefined && chance.chance(0.1)) this.#socket = await this.#connect();
    this.reports += 1;
    const report = this.#lie();
    if (this.#socket !== undefined && chance.chance(0.5)) {
      this.#socket.report(report);
      return;
    }
    const answer: Orders | "stale" = await this.#plane.report(report, 0);
    const orders = answer === "stale" ? [] : answer.attempts.filter((one) => "task" in one);
    for (const { id } of orders) {
      this.#ordered.add(id);
      if (!this.#hasRoom) this.#world.violated(`X5: ${this.worker} is ordered to run ${id}`, this.worker);
    }
  }

  #connect(): Promise<SimSocket> {
    const closed = () => {
      this.#socket = undefined;
    };
    return this.#plane.connect({ frame: () => undefined, closed });
  }

  #lie(): Report {
    const { chance } = this.#world;
    const { incarnation = 1 } = this.#setup ?? {};
    this.#seq = chance.chance(0.01) ? chance.between(1, HUGE) : this.#seq + chance.between(0, 2);
    const some = <T>(share: number, make: () => T, name: string) =>
      chance.chance(share) ? { [name]: make() } : {};
    return {
      incarnation: chance.chance(0.05) ? chance.between(1, 20) : incarnation,
      seq: Math.max(1, this.#seq),
      full: chance.chance(0.5),
      ordersSeen: chance.chance(0.1) ? chance.between(0, HUGE) : chance.between(0, 3),
      attempts: Array.from({ length: chance.between(0, MOST_CLAIMS) }, () => this.#claim()),
      ...(this.#hasRoom ? { means: MEANS } : {}),
      ...some(0.3, () => chance.between(0, HUGE), "clock"),
      ...some(0.3, () => this.#placements(), "kept"),
      ...some(
        0.2 * this.#farewell,
        () => this.#placements().map((one) => ({ run: one.split("/")[0] ?? "" })),
        "stale",
      ),
      ...some(0.1 * this.#farewell, () => chance.pick([null, "a", "b"]), "draining"),
      ...some(0.1 * this.#farewell, () => chance.between(0, HUGE), "goneInMs"),
      ...some(0.05 * this.#farewell, () => `broken ${chance.between(1, 9)}`, "broken"),
      ...some(0.2, () => ({ ok: chance.chance(0.5), output: `${chance.between(1, 9)}` }), "boot"),
    };
  }

  /** The id of an attempt that it was ordered to run, or of any. */
  #attempt(): string {
    const { chance } = this.#world;
    const own = this.#ordered.size > 0 && chance.chance(SHARE_OF_OWN) && chance.pick([...this.#ordered]);
    if (own) return own;
    const { run, tasks } = this.#target();
    const task = chance.pick(tasks) ?? "main";
    return `${run}/${task}/${chance.between(1, HIGHEST_EPOCH)}.${chance.between(1, HIGHEST_ATTEMPT)}`;
  }

  #claim(): AttemptReport {
    const { chance } = this.#world;
    const id = this.#attempt();
    const state = chance.pick(STATES) ?? "running";
    const exit = { code: chance.between(0, 3), signal: null, oomKilled: false, message: "a lie" };
    return {
      id,
      state,
      startedAgoMs: chance.between(0, HUGE),
      ...(state === "exited" ? { exit, endedAgoMs: chance.between(0, HUGE) } : {}),
      ...(chance.chance(0.1) ? { timedOut: true } : {}),
      ...(chance.chance(0.2) ? { log: { stdout: this.#piece(), stderr: this.#piece() } } : {}),
      ...(chance.chance(0.1 * this.#farewell)
        ? { kill: { tries: 5, error: "a lie", treeGone: false, by: "cgroup" } }
        : {}),
    };
  }

  #piece(): { from: number; size: number } {
    const size = this.#world.chance.between(0, HUGE);
    return { from: this.#world.chance.between(0, size), size };
  }

  #placements(): string[] {
    const { chance } = this.#world;
    const one = () => `${this.#target().run}/${chance.between(1, HIGHEST_EPOCH)}`;
    return [...new Set(Array.from({ length: chance.between(0, MOST_CLAIMS) }, one))];
  }

  /** A run that there is, or one of nobody. */
  #target(): Target {
    const { chance } = this.#world;
    const nobody = { run: `nobody-${chance.between(1, 1_000)}`, tasks: ["main"] };
    return chance.chance(0.7) ? (chance.pick(this.#targets) ?? nobody) : nobody;
  }
}
