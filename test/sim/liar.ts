import type { AttemptReport, HostSetup, Orders, Report } from "../../src/schema/host.ts";
import type { ControlPlane } from "./host.ts";
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

/**
 * A host that lies: a machine of one's own on which nothing has room, and whose agent says anything that the
 * schema allows, as often as it likes, of runs that were never given to it. What it says is believed within
 * bounds, so all other invariants hold as if it were not there.
 */
export class Liar {
  readonly worker: string;
  /** Reports that have left it. */
  reports = 0;
  readonly #world: World;
  readonly #plane: ControlPlane;
  readonly #targets: Target[];
  #setup: HostSetup | undefined;
  #socket: SimSocket | undefined;
  #seq = 0;
  over = false;

  constructor(world: World, worker: string, plane: ControlPlane, targets: Target[]) {
    this.#world = world;
    this.worker = worker;
    this.#plane = plane;
    this.#targets = targets;
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
    const told = answer === "stale" ? [] : answer.attempts.filter((one) => "task" in one);
    if (told.length > 0)
      this.#world.violated(`X5: ${this.worker} is told to run ${told[0]?.id}`, this.worker);
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
      ...some(0.3, () => chance.between(0, HUGE), "clock"),
      ...some(0.3, () => this.#placements(), "kept"),
      ...some(0.2, () => this.#placements().map((one) => ({ run: one.split("/")[0] ?? "" })), "stale"),
      ...some(0.1, () => chance.pick([null, "a", "b"]), "draining"),
      ...some(0.1, () => chance.between(0, HUGE), "goneInMs"),
      ...some(0.05, () => `broken ${chance.between(1, 9)}`, "broken"),
      ...some(0.2, () => ({ ok: chance.chance(0.5), output: `${chance.between(1, 9)}` }), "boot"),
    };
  }

  #claim(): AttemptReport {
    const { chance } = this.#world;
    const { run, tasks } = this.#target();
    const task = chance.pick(tasks) ?? "main";
    const id = `${run}/${task}/${chance.between(1, HIGHEST_EPOCH)}.${chance.between(1, HIGHEST_ATTEMPT)}`;
    const state = chance.pick(STATES) ?? "running";
    const exit = { code: chance.between(0, 3), signal: null, oomKilled: false, message: "a lie" };
    return {
      id,
      state,
      startedAgoMs: chance.between(0, HUGE),
      ...(state === "exited" ? { exit, endedAgoMs: chance.between(0, HUGE) } : {}),
      ...(chance.chance(0.1) ? { kill: { tries: 5, error: "a lie", treeGone: false, by: "cgroup" } } : {}),
    };
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
