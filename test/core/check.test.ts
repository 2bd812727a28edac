import { describe, expect, test } from "vitest";
import { allocationMachine } from "../../src/core/allocation/machine.ts";
import type { AllocationRecord, AllocationState } from "../../src/core/allocation/state.ts";
import { poolMachine } from "../../src/core/pool/machine.ts";
import type { PoolRecord, RunRow, WorkerRow } from "../../src/core/pool/record.ts";
import { runKey } from "../../src/core/pool/record.ts";
import { type RegistryState, registryMachine } from "../../src/core/registry/machine.ts";
import type { PoolEntry } from "../../src/core/registry/pools.ts";
import { workerMachine } from "../../src/core/worker/machine.ts";
import type { PlacementRow, WorkerRecord } from "../../src/core/worker/state.ts";
import { placementKey } from "../../src/shared/attempt-id.ts";
import { check, type Envelope, type Machine } from "../../src/shared/machine.ts";
import * as ofRun from "./support/allocation.ts";
import * as ofPool from "./support/pool.ts";
import { poolConfig } from "./support/pool-config.ts";
import { registryOf } from "./support/registry.ts";
import * as ofWorker from "./support/worker.ts";

const { T0 } = ofRun;
const DAY = 86_400_000;

/** Which invariants of a machine a step breaks, by their place in its table. */
function brokenBy<State, Event, Message extends Envelope>(
  machine: Machine<State, Event, Message>,
  [before, after]: [State, State],
  now = T0,
): { at: number[]; rules: string[] } {
  const at = machine.invariants.flatMap(({ broken }, i) => (broken(before, after, now) ? [i] : []));
  return { at, rules: check(machine, before, after, now).map(({ rule }) => rule) };
}

/** Tries a table of broken steps, and whether it has one for each invariant of the machine. */
function tryAll<State, Event, Message extends Envelope>(
  machine: Machine<State, Event, Message>,
  cases: [what: string, rule: string, step: () => [State, State]][],
): void {
  const seen = new Set<number>();
  test.each(cases)("%s (%s)", (_what, rule, step) => {
    const { at, rules } = brokenBy(machine, step());
    expect(rules).toContain(rule);
    for (const i of at) seen.add(i);
  });

  test("are all tried above", () => {
    expect([...seen].sort((a, b) => a - b)).toEqual(machine.invariants.map((_, i) => i));
  });
}

describe("the invariants of a run (shell.md#assertions)", () => {
  const running = ofRun.started();
  const over = ofRun.runAt(running, T0 + 1_000, ofRun.observed([ofRun.exited()]));
  const onto = (state: AllocationState & { record: AllocationRecord }, more: Partial<AllocationRecord>) => {
    const record = { ...state.record, ...more };
    return (): [AllocationState, AllocationState] => [state, { ...state, record }];
  };
  const task = (more: object) => running.record.tasks.map((one) => ({ ...one, ...more }));
  const dead = {
    ...running,
    record: { ...running.record, tasks: task({ dead: { at: T0, how: "failed" } }) },
  };
  const placement = ofRun.started({ timeout: "1h" }).record.placements[0];
  if (placement === undefined) throw new Error("it has no placement");

  const failedTry = { cause: "exit", epoch: 1, worker: "w1", at: T0, delayMs: 0, text: "" } as const;

  tryAll(allocationMachine, [
    ["one that was accepted is lost", "rules.md#invariant-1", () => [running, { ...running, record: null }]],
    ["its version goes back", "rules.md#r1", onto(running, { version: running.record.version - 1 })],
    ["the revision of its order goes back", "rules.md#r1", onto(running, { revision: 0 })],
    [
      "it waits for a job, and for no run of it",
      "jobs.md#following",
      onto(running, { awaits: [{ job: "nightly" }] }),
    ],
    ["an epoch has ended, and has not", "rules.md#r2", onto(over, { endedEpoch: 0 })],
    [
      "an epoch is open that has ended",
      "rules.md#r2",
      onto(running, { endedEpoch: 2, placements: [placement] }),
    ],
    ["a placement is open that has ended", "rules.md#r2", onto(over, { placements: [placement] })],
    ["two placements are open", "rules.md#r2", onto(running, { placements: [placement, placement] })],
    [
      "it ends while a placement is open",
      "rules.md#r3",
      onto(running, { ended: true, placements: [placement] }),
    ],
    ["it ends without an outcome", "rules.md#r3", onto(running, { ended: true, outcome: null })],
    ["it had ended, and has not", "tasks.md#status-3", onto(over, { ended: false })],
    ["its outcome changes", "tasks.md#status-3", onto(over, { outcome: null })],
    ["it is tried again without a policy", "retry.md#tries", onto(running, { retries: [failedTry] })],
    ["a dead task lives again", "tasks.md#dead-is-final", onto(dead, { tasks: task({}) })],
    [
      "its events are told anew",
      "tasks.md#history-1",
      onto(running, { events: running.record.events.slice(0, 1) }),
    ],
  ]);

  test.each<[string, Partial<AllocationRecord>, Partial<AllocationRecord>]>([
    ["while its placement is open", {}, { retries: [failedTry] }],
    ["twice for one placement", {}, { endedEpoch: 1, retries: [failedTry, failedTry] }],
    [
      "more often than it may be",
      { retries: [failedTry] },
      { endedEpoch: 2, retries: [failedTry, failedTry] },
    ],
    ["for another reason than before", { retries: [failedTry] }, { retries: [{ ...failedTry }] }],
  ])("a run is not tried again %s (retry.md#tries)", (_what, was, more) => {
    const first = ofRun.started({ retry: { on: ["exit"], max: 1 } });
    const state = { ...first, record: { ...first.record, ...was } };
    expect(brokenBy(allocationMachine, onto(state, more)()).rules).toContain("retry.md#tries");
  });

  test("a dead task may live again in another round, and a run be deleted once it has ended", () => {
    expect(brokenBy(allocationMachine, onto(dead, { tasks: task({ round: 2 }) })()).rules).toEqual([]);
    const left = ofRun.at(over, T0 + DAY, { type: "forget", body: ofRun.REF });
    expect(brokenBy(allocationMachine, [over, left]).rules).toEqual([]);
  });
});

describe("the invariants of a worker (shell.md#assertions)", () => {
  const onto = (more: Partial<WorkerRecord>, was: Partial<WorkerRecord> = {}) => {
    return (): [ReturnType<typeof ofWorker.readyOwn>, ReturnType<typeof ofWorker.readyOwn>] => {
      const state = ofWorker.readyOwn(["a"]);
      const record = { ...state.record, ...was };
      return [
        { ...state, record },
        { ...state, record: { ...record, ...more } },
      ];
    };
  };
  /** A placement changes, as no event can make it change. */
  const placed = (change: (row: PlacementRow) => PlacementRow, had?: Partial<PlacementRow>) => {
    return (): [ReturnType<typeof ofWorker.readyOwn>, ReturnType<typeof ofWorker.readyOwn>] => {
      const state = ofWorker.readyOwn(["a"]);
      const key = placementKey("a", 1);
      const row = state.placements.get(key);
      if (row === undefined) throw new Error("there is no such row");
      const before = { ...row, ...had };
      state.placements.set(key, before, T0);
      state.placements.flush();
      state.placements.set(key, change(before), T0);
      return [state, state];
    };
  };
  const ended = { state: "ended", order: null, end: { how: "gone", held: true, owed: false } } as const;
  const intent = ofWorker.invitation({ worker: "other" });

  tryAll(workerMachine, [
    ["its intent becomes another", "rules.md#invariant-3", onto({ intent })],
    ["it boots once more", "workers.md#transitions", onto({ phase: "booting" })],
    ["it was gone, and is ready", "workers.md#transitions", onto({ phase: "ready" }, { phase: "gone" })],
    ["its version goes back", "rules.md#r1", onto({ version: 0 })],
    ["its lease is cut", "rules.md#r4", onto({ leaseUntil: T0 + 1 })],
    ["it ends by itself with a run on it", "rules.md#invariant-4", onto({ phase: "shutdown" })],
    [
      "a placement lives that had ended",
      "rules.md#r2",
      placed(
        (row) => ({
          ...row,
          state: "live",
          order: ofWorker.readyOwn(["a"]).placements.get(placementKey("a", 1))?.order ?? null,
          end: null,
        }),
        ended,
      ),
    ],
    [
      "a placement has ended in another way",
      "rules.md#r2",
      placed((row) => ({ ...row, end: { how: "lost", held: true, owed: false } }), ended),
    ],
    ["a placement lives without an order", "rules.md#r2", placed((row) => ({ ...row, order: null }))],
    ["the revision of a placement goes back", "rules.md#r1", placed((row) => ({ ...row, revision: 0 }))],
  ]);

  test("one that was gone may be listed again, to be destroyed", () => {
    const instance = { id: "i-1", address: null };
    const back = onto({ phase: "shutdown", instance }, { phase: "gone" });
    expect(brokenBy(workerMachine, back()).rules).toEqual([]);
  });
});

describe("the invariants of a pool (shell.md#assertions)", () => {
  type Step = [ReturnType<typeof ofPool.configured>, ReturnType<typeof ofPool.configured>];
  const onto = (more: Partial<PoolRecord>, was: Partial<PoolRecord> = {}) => {
    return (): Step => {
      const state = ofPool.configured();
      const record = { ...state.record, ...was };
      return [
        { ...state, record },
        { ...state, record: { ...record, ...more } },
      ];
    };
  };
  const changed = (before: RunRow, more: Partial<RunRow>, spoil?: (state: Step[0]) => void) => {
    return (): Step => {
      const state = ofPool.configured({}, [before], [ofPool.workerRow("w1")]);
      state.runs.set(runKey(before.submittedAt, before.run), { ...before, ...more }, T0);
      spoil?.(state);
      return [state, state];
    };
  };
  const machine = (before: WorkerRow[], after: WorkerRow, maxInstances = 1) => {
    return (): Step => {
      const state = ofPool.configured({ maxInstances }, [], before);
      state.workers.set(after.worker, after, T0);
      return [state, state];
    };
  };
  const tally = (count: number, upTo = 0) => ({
    tally: { counts: { "ended complete": count }, upTo, from: "" },
  });
  const on = ofPool.placed("a", "w1");

  tryAll(poolMachine, [
    ["its revision goes back", "rules.md#r1", onto({ revision: 0 })],
    ["the name of a worker comes twice", "rules.md#invariant-3", onto({ nextWorker: 0 })],
    ["a count shrinks", "pool.md#metrics", onto(tally(1), tally(2))],
    ["the ordinals of ends go back", "pool.md#metrics", onto(tally(1, 1), tally(1, 2))],
    [
      "the end of a run gets another ordinal",
      "webhooks.md#following",
      changed(
        { ...ofPool.waiting("a", { state: "complete", wants: "nothing" }), endNumber: 1 },
        { endNumber: 2 },
      ),
    ],
    ["the version of a run goes back", "rules.md#r1", changed(on, { version: 0 })],
    ["an epoch is not open any more, and has not ended", "rules.md#r2", changed(on, { opened: 0 })],
    ["two epochs of a run are open", "rules.md#r2", changed(on, { opened: 2 })],
    ["a run is placed nowhere", "rules.md#r2", changed(on, { worker: null })],
    [
      "a run that has ended runs",
      "rules.md#invariant-9",
      changed(ofPool.waiting("a", { state: "complete", wants: "nothing" }), { state: "running" }),
    ],
    [
      "a run is not counted where it is",
      "rules.md#invariant-6",
      changed(on, { priority: 1 }, (state) => state.memo.index.placed.clear()),
    ],
    [
      "there are more permits than there may be",
      "rules.md#invariant-9",
      machine([ofPool.workerRow("w1")], ofPool.workerRow("w2", "asked")),
    ],
    [
      "a machine goes over to another project",
      "projects.md#machines",
      machine(
        [ofPool.workerRow("w1", "ready", { project: "ml" })],
        ofPool.workerRow("w1", "ready", { project: "web" }),
      ),
    ],
    [
      "a run is placed on the machine of another project",
      "projects.md#machines",
      () => {
        const projects = { default: {}, ml: {} };
        const ofMl = ofPool.workerRow("w1", "ready", { project: "ml" });
        const state = ofPool.configured({ projects }, [ofPool.waiting("a")], [ofMl]);
        const row = ofPool.placed("a", "w1");
        state.runs.set(runKey(row.submittedAt, row.run), row, T0);
        return [state, state];
      },
    ],
    [
      "more runs of an array are placed than may be",
      "pool.md#arrays",
      () => {
        const array = { id: "n", index: 0, size: 2, maxParallel: 1 };
        const before = [ofPool.placed("a", "w1", { array }), ofPool.waiting("b", { array })];
        const state = ofPool.configured({}, before, [ofPool.workerRow("w1")]);
        const row = ofPool.placed("b", "w1", { array });
        state.runs.set(runKey(row.submittedAt, row.run), row, T0);
        return [state, state];
      },
    ],
    [
      "more runs hold a concurrency key than may",
      "pool.md#concurrency-keys",
      () => {
        const concurrency = { key: "k", limit: 1, strategy: "queue" as const };
        const before = [ofPool.placed("a", "w1", { concurrency }), ofPool.waiting("b", { concurrency })];
        const state = ofPool.configured({}, before, [ofPool.workerRow("w1")]);
        const row = ofPool.placed("b", "w1", { concurrency });
        state.runs.set(runKey(row.submittedAt, row.run), row, T0);
        return [state, state];
      },
    ],
    [
      "a run wants a place and awaits an array",
      "pool.md#array-ends",
      () => {
        const state = ofPool.configured({}, [ofPool.waiting("a")]);
        const row = ofPool.waiting("a", { awaitsArrays: [{ array: "n", on: "any" }] });
        state.runs.set(runKey(row.submittedAt, row.run), row, T0);
        return [state, state];
      },
    ],
    [
      "a run is placed whose array has failed",
      "pool.md#fail-at",
      () => {
        const array = (index: number) => ({ array: { id: "n", index, size: 2, failAt: 1 } });
        const end = { state: "complete", exitCode: 1, wants: "nothing", opened: 1, ended: 1 } as const;
        const before = [{ ...ofPool.waiting("a", array(0)), ...end }, ofPool.waiting("b", array(1))];
        const state = ofPool.configured({}, before, [ofPool.workerRow("w1")]);
        const row = ofPool.placed("b", "w1", array(1));
        state.runs.set(runKey(row.submittedAt, row.run), row, T0);
        return [state, state];
      },
    ],
    [
      "a run is placed that another one replaces",
      "pool.md#replacing",
      () => {
        const replace = "deploy";
        const old = { ...ofPool.placed("a", "w1", { replace }), replacedBy: { run: "b", by: "user" } };
        const state = ofPool.configured(
          {},
          [old, ofPool.waiting("b", { replace })],
          [ofPool.workerRow("w1")],
        );
        const row = ofPool.placed("b", "w1", { replace });
        state.runs.set(runKey(row.submittedAt, row.run), row, T0);
        return [state, state];
      },
    ],
    [
      "a worker is ready that was gone, and has no machine",
      "workers.md#transitions",
      machine([ofPool.workerRow("w1", "gone")], ofPool.workerRow("w1", "ready", { instance: null })),
    ],
  ]);

  test("a row that changes twice in a step is compared with what is stored of it", () => {
    const state = ofPool.configured({}, [ofPool.placed("a", "w1", { version: 3 })], [ofPool.workerRow("w1")]);
    const key = runKey(T0, "a");
    for (const version of [1, 2]) state.runs.set(key, ofPool.placed("a", "w1", { version }), T0);
    expect(brokenBy(poolMachine, [state, state]).rules).toEqual(["rules.md#r1"]);
    state.runs.flush();
    expect(brokenBy(poolMachine, [state, state]).rules).toEqual([]);
  });
});

describe("the invariants of the registry (shell.md#assertions)", () => {
  const config = poolConfig();
  const entry = { revision: 2, seed: "s", wanted: config, accepted: { revision: 2, config } };
  const registry = (pools: Record<string, PoolEntry>): RegistryState => registryOf({ pools });

  tryAll(registryMachine, [
    [
      "the revision of a pool goes back",
      "rules.md#r1",
      () => [registry({ default: entry }), registry({ default: { ...entry, revision: 1 } })],
    ],
    ["a pool that was accepted is lost", "rules.md#r1", () => [registry({ default: entry }), registry({})]],
  ]);
});
