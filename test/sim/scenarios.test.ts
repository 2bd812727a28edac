import { describe, expect, test } from "vitest";
import { loadedAllocation } from "../../src/core/allocation/load.ts";
import { statusOf } from "../../src/core/allocation/read/status.ts";
import { RunSpec } from "../../src/schema/run/run.ts";
import { sized } from "../chance/length.ts";
import { expectEnd, type Scenario, specOf, type Told } from "../groups/scenario.ts";
import { SCENARIOS } from "../groups/scenarios.ts";
import { ALL_FAULTS } from "./faults.ts";
import { tellStory } from "./shrink.ts";
import { DEFAULTS, type Options, type Result, simulate } from "./simulation.ts";

// The scenarios of groups in the simulator: their hosts play them on a clock of its own.

const RUN = "group";
const STEPS = 600;
const SEEDS_WITHOUT_FAULTS = 5;
const SEEDS_WITH_FAULTS = sized(4, 40);
/** All but the one that ends a run as somebody wants: whoever deletes its pool by force aborts it. */
const FAULTS = ALL_FAULTS.filter((fault) => fault !== "forcedDeletion");
/** How a group may also end: machines, agents and disks fail, so the mechanism failed it. */
const BY_FAULT = ["machine_lost", "status_lost", "agent_ended", "unkillable", "start_failed"];

async function play(scenario: Scenario, more: Pick<Options, "seed" | "faults">): Promise<Result> {
  const spec = RunSpec.parse(specOf(scenario, "fake"));
  const act = scenario.act === undefined ? {} : { act: scenario.act };
  const job = { id: RUN, spec, submitAtMs: 0, abortAtMs: null, pleas: [], ...act };
  const result = await simulate({ ...DEFAULTS, ...more, steps: STEPS, jobs: [job] });
  expect(result.violation === undefined ? "" : `seed ${more.seed}\n${tellStory(result)}`).toBe("");
  return result;
}

function toldBy({ ended }: Result): Told {
  const [record] = ended.values(); // it is the only run of the story
  if (record === undefined) throw new Error("the run has not ended");
  return { status: statusOf({ ...loadedAllocation(record, true), record }), events: record.events };
}

describe.each(SCENARIOS)("$name", (scenario) => {
  test("without faults it ends as it says", async () => {
    for (let seed = 1; seed <= SEEDS_WITHOUT_FAULTS; seed += 1)
      expectEnd(scenario, toldBy(await play(scenario, { seed, faults: [] })));
  });

  test("with faults it ends so, or by one of them", async () => {
    const { state, failure } = scenario.end;
    const allowed = [`${state} ${failure?.code ?? ""}`, ...BY_FAULT.map((code) => `failed ${code}`)];
    let asItSays = 0;
    for (let seed = 1; seed <= SEEDS_WITH_FAULTS; seed += 1) {
      const { status } = toldBy(await play(scenario, { seed, faults: FAULTS }));
      const end = `${status.state} ${status.failure?.code ?? ""}`;
      if (status.state !== "unknown") expect(allowed, `seed ${seed}`).toContain(end);
      if (end === allowed[0]) asItSays += 1;
    }
    expect(asItSays).toBeGreaterThan(0);
  });
});
