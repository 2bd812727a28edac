import { describe, expect, test } from "vitest";
import { runOfJob } from "../../../../src/core/job/run-of-job.ts";
import type { RunUpsert } from "../../../../src/core/messages.ts";
import type { PoolEvent } from "../../../../src/core/pool/machine.ts";
import { isOpen } from "../../../../src/core/pool/record.ts";
import type { Configured } from "../../../../src/core/pool/state.ts";
import { JobFields } from "../../../../src/schema/job/job.ts";
import type { Concurrency } from "../../../../src/schema/run/start/concurrency.ts";
import {
  answer,
  at,
  configured,
  MINUTE,
  reloaded,
  run,
  T0,
  vcpus,
  workerRow,
  workerSays,
} from "../../support/pool.ts";

// What an earlier run of a schedule keeps from the next tick, by the pool's rows (jobs.md#overlap).

const tick: PoolEvent = { type: "tick" };

/** What the run of a tick asks of its key, as the job says it. */
function wishOf(overlap: "skip" | "queue-all", minute: number): Partial<RunUpsert> {
  const schedule = { cron: "* * * * *", zone: "UTC", overlap };
  const fields = JobFields.parse({ spec: { argv: ["true"] }, schedule });
  const cause = { job: "nightly", version: 1, tick: T0 + minute * MINUTE, isScheduled: true };
  const { values } = runOfJob(fields, {}, cause);
  const concurrency: Concurrency | undefined = values?.concurrency;
  if (concurrency === undefined) throw new Error("the run has no key");
  return { ...vcpus(0), concurrency };
}

const says = (id: string, more: Partial<RunUpsert> = {}) => run(id, { ...wishOf("skip", 0), ...more });
const holders = (state: Configured) => [...state.runs.live()].filter(isOpen).map((row) => row.run);
const workers = () => [workerRow("w1"), workerRow("w2")];

describe("case 8: the previous run is on a machine of which nobody hears (jobs.md#overlap)", () => {
  const begun = at(configured({}, [], workers()), T0, tick, says("first"));
  const silent = at(begun, T0 + MINUTE, workerSays("w1", { phase: "unknown", version: 2 }));

  test("until its lease is over it counts, and the reason names it", () => {
    expect(holders(silent)).toEqual(["first"]);
    const refused = answer(silent, "second", wishOf("skip", 1));
    expect(refused).toMatchObject({ kind: "refused", code: "concurrency_held", runs: ["first"] });
    expect(refused).toHaveProperty("text", expect.stringContaining("run first is"));
  });

  const over = { version: 2, wants: "nothing", epoch: 1, ended: 1 } as const;
  test.each([
    ["its end is unknown: it is over", { ...over, state: "unknown", failure: "machine_lost" }, "placed"],
    ["it waits for another machine: it goes on", { ...over, wants: "place", state: "pending" }, "refused"],
  ] as const)("after its lease, also for a pool that has forgotten everything else: %s", (_, more, kind) => {
    const after = at(reloaded(silent), T0 + 40 * MINUTE, says("first", more));
    const next = at(after, T0 + 40 * MINUTE, says("second"));
    const isThere = [...next.runs.live()].some((row) => row.run === "second");
    expect(isThere).toBe(kind === "placed");
    if (kind === "placed") expect(holders(next)).toEqual(["second"]);
  });
});

describe("case 13: how many runs a job has is a query over the pool's rows (rules.md#invariant-6)", () => {
  const MOST = 20;
  // One sequence of chances, the same each time.
  const chances = (seed: number) => () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return seed / 2 ** 32;
  };

  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    "whatever is said twice, late or in another order (seed %i)",
    (seed) => {
      const chance = chances(seed);
      let state = at(configured({}, [], workers()), T0, tick);
      const versions = new Map<string, number>();
      const ended = new Set<string>();
      for (let step = 0; step < 200; step += 1) {
        const id = `nightly-${Math.floor(chance() * MOST)}`;
        const now = T0 + step * 1_000;
        const isNew = !versions.has(id);
        const version = isNew || chance() < 0.3 ? (versions.get(id) ?? 1) : (versions.get(id) ?? 1) + 1;
        const ends = !isNew && (ended.has(id) || chance() < 0.4);
        const more = ends
          ? { state: "complete" as const, wants: "nothing" as const, epoch: 1, ended: 1 }
          : {};
        if (chance() < 0.2) state = reloaded(state);
        state = at(state, now, run(id, { ...wishOf("queue-all", 0), ...more, version }));
        versions.set(id, version);
        if (ends) ended.add(id);
        // What the limit counts, what a list shows, and what is stored, are the same rows.
        const live = [...state.runs.live()].filter((row) => row.run.startsWith("nightly-"));
        const known = [...versions.keys()];
        expect(live.length).toBeLessThanOrEqual(known.length);
        expect(new Set(live.map((row) => row.run)).size).toBe(live.length);
        expect(holders(state).length).toBeLessThanOrEqual(1);
        const again = reloaded(state);
        expect([...again.runs.live()].map((row) => row.run).sort()).toEqual(
          [...state.runs.live()].map((row) => row.run).sort(),
        );
        expect(holders(again)).toEqual(holders(state));
      }
    },
  );
});
