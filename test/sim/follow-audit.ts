import type { AllocationRecord } from "../../src/core/allocation/state.ts";
import { failLimit } from "../../src/core/pool/arrays/array-ends.ts";
import type { RunRow } from "../../src/core/pool/record.ts";
import type { RunArray } from "../../src/schema/run/array.ts";
import { hasFailed } from "../../src/shared/run-state.ts";
import type { Process } from "./player.ts";
import type { Followed } from "./relations.ts";
import type { World } from "./world.ts";

/** Looks after runs that follow others (api.md#after), and after arrays that end early (pool.md#fail-at). */
export class FollowAudit {
  readonly #world: World;
  /** Each run as it was when it ended. */
  readonly #ended: ReadonlyMap<string, AllocationRecord>;
  readonly #rows: () => RunRow[];
  /** By run: what it follows, and its place in an array as it was submitted. */
  readonly follows = new Map<string, readonly Followed[]>();
  readonly arrays = new Map<string, RunArray>();
  /** Runs that were deleted. */
  readonly forgotten = new Set<string>();
  /** Runs that their pool has refused. A late copy of the submission may have left a row of one there. */
  readonly refused = new Set<string>();

  constructor(world: World, ended: ReadonlyMap<string, AllocationRecord>, rows: () => RunRow[]) {
    this.#world = world;
    this.#ended = ended;
    this.#rows = rows;
  }

  /** Nothing of a run starts before all that it follows has ended as it needs. */
  started({ id, run, worker, epoch }: Process): void {
    const early = this.follows.get(run)?.find((one) => !this.#isMet(one));
    if (early !== undefined)
      this.#world.violated(`2: ${id} starts before ${early.name} meets "${early.on}"`, run, worker);
    this.#isNotTooLate(id, run, epoch);
  }

  /** A run that says that it cannot start names what it follows and what can no longer be met. */
  ended(name: string, { outcome }: AllocationRecord): void {
    if (outcome?.failure?.code !== "dependency_failed") return;
    const isUnmet = this.follows.get(name)?.some((one) => this.#canBeUnmet(one));
    if (isUnmet !== true) this.#world.violated(`2: ${name} gives up on what it could still await`, name);
  }

  #isMet({ runs, on }: Followed): boolean {
    const ends = runs.map((run) => this.#howEnded(run));
    if (ends.includes("not") || ends.length === 0) return false;
    if (ends.includes("refused")) return on === "any";
    return on === "any" || (on === "success" ? !ends.includes("badly") : ends.includes("badly"));
  }

  #canBeUnmet({ runs, on }: Followed): boolean {
    if (on === "any") return false;
    if (runs.some((run) => this.forgotten.has(run) || this.refused.has(run))) return true;
    const ends = runs.map((run) => this.#howEnded(run));
    return on === "success" ? ends.includes("badly") : ends.every((one) => one === "well");
  }

  #howEnded(run: string): "not" | "well" | "badly" | "refused" {
    if (this.refused.has(run)) return "refused";
    const outcome = this.#ended.get(run)?.outcome;
    if (outcome === undefined || outcome === null) return "not";
    const { state, exitCode, signal } = outcome;
    return state === "complete" && (exitCode ?? 0) === 0 && signal === null ? "well" : "badly";
  }

  /** The pool gives no place to a run of an array once it has heard of too many failures there. */
  #isNotTooLate(id: string, run: string, epoch: number): void {
    const array = this.arrays.get(run);
    const rows = this.#rows();
    const own = rows.find((one) => one.run === run);
    if (array?.failAt === undefined || own?.openedAt === undefined || own.opened !== epoch) return;
    const { openedAt, project } = own;
    // Both are instants of a clock that may have been set back in between.
    const before = openedAt - this.#world.planeJumpedMs;
    const known = rows.filter((one) => {
      const isSibling = one.project === project && this.arrays.get(one.run)?.id === array.id;
      return isSibling && hasFailed(one) && (one.endHeardAt ?? openedAt) < before;
    });
    if (known.length >= (failLimit(array) ?? Number.POSITIVE_INFINITY))
      this.#world.violated(`9: ${id} is placed after ${known.length} runs of its array had failed`, run);
  }
}
