import { readRun } from "../../../src/core/allocation/read/cost.ts";
import { parkedOf } from "../../../src/core/allocation/retry/parked.ts";
import type { AllocationRecord, Tombstone } from "../../../src/core/allocation/state.ts";
import { tickRunId, triggeredRunId } from "../../../src/core/job/ids.ts";
import type { JobRecord } from "../../../src/core/job/record.ts";
import { existing } from "../../../src/objects/reads/existing.ts";
import type { AllocationApi, SubmitRequest } from "../../../src/objects/rpc.ts";
import type { RunStatus } from "../../../src/schema/run/run.ts";
import { type DroverError, isDroverError } from "../../../src/shared/errors.ts";
import type { World } from "../world.ts";
import type { JobWorld } from "./node.ts";

/** The runs of a job that are parked, as they are stored. `all`: the runs that were made. */
export function parkedRuns({ project, name }: JobRecord, all: Iterable<string>, around: JobWorld): string[] {
  const beginnings = [tickRunId(project, name, 0), triggeredRunId(project, name, "k")].map((id) =>
    id.slice(0, id.lastIndexOf("-") + 1),
  );
  return [...all].filter((run) => {
    if (!beginnings.some((begins) => run.startsWith(begins))) return false;
    const stored = around.allocation(run).disk.value;
    return stored !== null && "spec" in stored && parkedOf(stored) !== undefined;
  });
}

/** What a redrive asks of a run besides a submission: over the network, which loses and doubles. */
export function redriveCalls(from: string, run: string, { world, allocation }: JobWorld) {
  const ask = async (what: string, change?: Parameters<AllocationApi["redrive"]>[0]): Promise<RunStatus> => {
    const serve = () =>
      allocation(run).serve(async (actor): Promise<{ status: RunStatus } | { error: DroverError }> => {
        try {
          if (change !== undefined) actor.apply({ type: "redrive", ...change });
          return { status: readRun(existing(actor.state, run), world.planeNow) };
        } catch (error) {
          if (isDroverError(error)) return { error };
          throw error;
        }
      });
    const answer = await world.call(from, run, what, serve);
    if ("error" in answer) throw answer.error;
    return answer.status;
  };
  return {
    read: () => ask("read"),
    redrive: (request: Parameters<AllocationApi["redrive"]>[0]) => ask("redrive", request),
  };
}

/** Looks after redrives: of each parked run there is one, and it is there (jobs.md#redrive). */
export class RedriveAudit {
  readonly #world: World;
  /** By the id of the parked run: that of the run which repeats it. */
  readonly #made = new Map<string, string>();

  constructor(world: World) {
    this.#world = world;
  }

  /** A submission reaches a run that is not there. */
  begins(run: string, { spec: { rerunOf } }: SubmitRequest): void {
    if (rerunOf === undefined) return;
    const known = this.#made.get(rerunOf);
    if (known !== undefined && known !== run)
      this.#world.violated(`1: ${rerunOf} runs again as ${known} and as ${run}`, rerunOf);
    this.#made.set(rerunOf, run);
  }

  /** At the end of a story: what a parked run names as its redrive was made. */
  afterAll(stored: (run: string) => AllocationRecord | Tombstone | null): void {
    for (const [parked, run] of this.#made) {
      const record = stored(parked);
      if (record === null || !("redriven" in record) || record.redriven === undefined) continue;
      if (record.redriven.run !== run || stored(run) === null)
        this.#world.violated(`1: ${parked} runs again as ${record.redriven.run}, which is not there`, parked);
    }
  }
}
