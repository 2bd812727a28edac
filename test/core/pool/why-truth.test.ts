import { describe, expect, test } from "vitest";
import type { WorkerFailure } from "../../../src/core/messages.ts";
import { plan } from "../../../src/core/pool/plan/plan.ts";
import { spendOf } from "../../../src/core/pool/read/money.ts";
import { explainRun, poolView, WAIT_CODES, workerSummary } from "../../../src/core/pool/read/views.ts";
import type { WorkerRow } from "../../../src/core/pool/record.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
import type { PoolConfigInput } from "../../../src/schema/pool.ts";
import type { NextCode } from "../../../src/schema/why.ts";
import {
  configured,
  held,
  hold,
  MINUTE,
  NEED,
  POOL,
  placed,
  T0,
  vcpus,
  waiting,
  workerRow,
} from "../support/pool.ts";

const failure: WorkerFailure = { class: "temporary", text: "the provider answered 403: no", at: T0 };
const reason = "the provider did not make the machine (temporary): the provider answered 403: no";
const row = (more: Partial<WorkerRow> = {}) =>
  workerRow("w1", "booting", { instance: null, bootOutcome: null, ...more });
const pool = (...workers: WorkerRow[]) => configured({ maxInstances: 4 }, [waiting("a")], workers);
/** Two machines are asked for, of which another run has the first. */
const pool2 = (first: WorkerRow) => {
  const runs = [waiting("b", { ...vcpus(4), priority: 90 }), waiting("a", vcpus(4))];
  return configured({ maxInstances: 4 }, runs, [first, { ...first, worker: "w2", askedAt: T0 + 1 }]);
};
/** A machine whose vCPUs are all taken. */
const full = (more: Partial<PoolConfigInput>, worker: WorkerRow, resources = vcpus(4).resources) =>
  configured(more, [placed("b", worker.worker, { resources }), waiting("a", { resources })], [worker]);
const none = { vcpus: 0, memory: 0, disk: 0, gpus: 0, price: 0 };
const ownMachine = {
  ...workerRow("w1", "ready", {
    instance: null,
    instanceType: "self-hosted",
    type: none,
    kind: "self-hosted",
  }),
  resources: { ...NEED, vcpus: 16, memoryBytes: 2 ** 36 },
};
const shared = { concurrency: { key: "k", limit: 1, strategy: "queue" as const } };
const arrayOf = (index: number) => ({ array: { id: "n", index, size: 2, maxParallel: 1 } });
const failing = (index: number) => ({ array: { id: "n", index, size: 2, failAt: 1 } });
const key = { replace: "deploy" };
const MIB = 2 ** 20;
const lessMemory = () => {
  const state = configured({}, [waiting("a", { resources: { ...NEED, memoryBytes: 950 * MIB } })]);
  return { ...state, record: { ...state.record, learned: { small: 900 * MIB } } };
};
const engineless = () => {
  const state = configured({}, [waiting("a", { containers: {} })]);
  return { ...state, record: { ...state.record, engineless: { small: "no Docker" } } };
};

const fewerGpus = () => {
  const gpus = { instanceTypes: { gpu: { vcpus: 4, memory: "1GiB", gpus: 2 } } };
  const state = configured(gpus, [waiting("a", { resources: { ...NEED, gpus: 2 } })]);
  return { ...state, record: { ...state.record, learnedGpus: { gpu: 1 } } };
};

/** What happens next, when, and until then whose word is waited for. */
type Says = [code: string, text: RegExp, next: NextCode, afterMs: number | null, waitsFor: string | null];

describe("P3: why a run waits for a place is the truth, and so is what it says happens next", () => {
  const table: [string, Configured, Says][] = [
    [
      "a machine boots",
      pool(row({ instance: "i-1" })),
      ["machine_booting", /booting/, "place", null, "host"],
    ],
    [
      "the provider has not answered",
      pool(row({ reason: "being created" })),
      ["machine_asked", /is being created/, "place", null, "provider"],
    ],
    [
      "the provider is asked later, after a pause for all calls",
      held(pool(row({ phase: "asked" })), hold(T0 + 9_000)),
      ["machine_asked", /is being created/, "ask", 9_000, null],
    ],
    [
      "the provider refuses",
      pool(row({ failure, reason })),
      ["create_deferred", /no machine for it yet: .*403: no/, "create", null, "provider"],
    ],
    [
      "… and a pause lasts",
      held(pool(row({ failure, reason, waits: "create" })), hold(T0 + MINUTE)),
      ["create_deferred", /403: no/, "create", MINUTE, null],
    ],
    [
      "… and the machine waits for its turn",
      pool(row({ failure, reason, waits: "create" })),
      ["create_deferred", /403: no/, "create", null, "pool"],
    ],
    [
      "… and another one is tried first after the pause",
      held(pool2(row({ failure, reason, waits: "create" })), hold(T0 + MINUTE)),
      ["create_deferred", /403: no/, "create", null, "pool"],
    ],
    [
      "… before it is configured again",
      held(pool(row({ failure, reason, waits: "create" })), hold(null, { cause: "invalid" })),
      ["create_deferred", /403: no/, "create", null, "operator"],
    ],
    [
      "the provider was not asked yet: the machine waits for its turn",
      pool(row({ phase: "asked" })),
      ["machine_asked", /is being created/, "ask", null, "pool"],
    ],
    [
      "no machine may be asked for",
      held(pool(), hold(T0 + MINUTE, { reason: "403" })),
      ["hold_off", /the latest attempt failed: 403/, "ask", MINUTE, null],
    ],
    [
      "… before it is configured again",
      held(pool(), hold(null, { cause: "invalid", reason: "bad image" })),
      ["hold_off", /bad image/, "ask", null, "operator"],
    ],
    [
      "all are full",
      configured({ maxInstances: 0 }, [waiting("a")]),
      ["no_workers", /may create none/, "place", null, "operator"],
    ],
    [
      "its type was configured away",
      configured({}, [waiting("a", vcpus(5))]),
      ["no_type", /no instance type/, "place", null, "operator"],
    ],
    [
      "there may be no more machines",
      full({ maxInstances: 1 }, workerRow("w1")),
      ["max_instances", /no machine has capacity \(1 running\).*`maxInstances` = 1/, "place", null, "worker"],
    ],
    [
      "only a self-hosted machine could hold it",
      full({ maxInstances: 1 }, ownMachine, { ...NEED, vcpus: 16 }),
      ["self_hosted_only", /self-hosted machines/, "place", null, "worker"],
    ],
    [
      "the agents of all machines are too old",
      configured({ maxInstances: 1 }, [waiting("a", { protocol: 1 })], [workerRow("w1")]),
      [
        "agent_too_old",
        /too old for .*`outputs`.*`checks`, `container`, `payload`/,
        "place",
        null,
        "operator",
      ],
    ],
    [
      "machines of its type have no container engine",
      engineless(),
      ["no_engine", /machines of type small: no Docker\): install Docker/, "place", null, "operator"],
    ],
    [
      "the engine of the only machine does not answer",
      configured(
        { maxInstances: 1 },
        [waiting("a", { containers: {} })],
        [workerRow("w1", "ready", { noEngine: { why: "podman: no answer", lasts: false } })],
      ),
      ["no_engine", /worker w1: podman: no answer/, "place", null, "operator"],
    ],
    [
      "the machines of its type have less memory",
      lessMemory(),
      ["less_memory", /small 900MiB of 1GiB/, "place", null, "operator"],
    ],
    [
      "the machines of its type have fewer GPUs",
      fewerGpus(),
      ["fewer_gpus", /it asks for 2 GPUs.*: gpu 1 of 2/, "place", null, "operator"],
    ],
    [
      "its project is no longer served",
      configured({}, [waiting("a", { project: "ml" })]),
      ["project_not_served", /no longer serves its project, "ml"/, "place", null, "operator"],
    ],
    [
      "its project uses all of its quota",
      configured(
        { projects: { default: { maxRuns: 1 } } },
        [placed("x", "w1"), waiting("a")],
        [workerRow("w1")],
      ),
      ["project_quota", /`maxRuns` = 1; placed, or about to be: 1/, "place", null, "command"],
    ],
    [
      "as many runs of its array are placed as it allows",
      configured({}, [placed("x", "w1", arrayOf(0)), waiting("a", arrayOf(1))], [workerRow("w1")]),
      ["max_parallel", /1 of 1 runs of its array, "n", that may run at once/, "place", null, "command"],
    ],
    [
      "as many runs hold its concurrency key as may",
      configured({}, [placed("x", "w1", shared), waiting("a", shared)], [workerRow("w1")]),
      ["concurrency_key", /its concurrency key, "k", is held by run x/, "place", null, "command"],
    ],
    [
      "it replaces a run that has not ended",
      configured(
        {},
        [{ ...placed("x", "w1", key), replacedBy: { run: "a", by: "u" } }, waiting("a", key)],
        [workerRow("w1")],
      ),
      ["replacing", /replaces run x, and starts only when/, "place", null, "command"],
    ],
    [
      "its array has failed",
      configured(
        {},
        [
          { ...placed("x", "w1", failing(0)), state: "complete", exitCode: 3, wants: "nothing" },
          waiting("a", failing(1)),
        ],
        [workerRow("w1")],
      ),
      ["array_failed", /1 of the 2 runs .* `failAt` is 1: x; so it is being ended/, "end", null, "command"],
    ],
    [
      "another run replaces it",
      configured({}, [{ ...waiting("a", key), replacedBy: { run: "b", by: "u" } }], [workerRow("w1")]),
      ["replaced", /run b replaces it, and so it is being ended/, "end", null, "command"],
    ],
    [
      "its budget allows less than any machine costs",
      configured({}, [waiting("a", { budget: { payer: "t", perHour: 0.001 } })]),
      ["budget", /budget of its token is 0.001 per hour/, "place", null, "operator"],
    ],
  ];

  test("no code is left out", () => {
    expect([...new Set(table.map(([, , [code]]) => code))].sort()).toEqual([...WAIT_CODES].sort());
  });

  test.each(table)("%s", (_what, state, [code, text, next, afterMs, waitsFor]) => {
    const why = explainRun(state, "a", T0);
    expect(why?.reason.code).toBe(code);
    expect(why?.reason.text).toMatch(text);
    const at = afterMs === null ? null : new Date(T0 + afterMs).toISOString();
    expect(why?.next).toMatchObject({ code: next, at, waitsFor });
  });

  test("a machine is asked for when it says so, and not before", () => {
    const state = held(pool(), hold(T0 + MINUTE));
    expect(plan(state, T0 + MINUTE - 1).creates).toEqual([]);
    expect(plan(state, T0 + MINUTE).creates).toHaveLength(1);
  });

  test("a machine that was never made neither boots nor costs anything", () => {
    const refused = pool(row({ failure: { ...failure, class: "capacity" }, reason }));
    expect(poolView(refused, T0)).toMatchObject({ unmade: { asked: 0, refused: 1 }, spend: { perHour: 0 } });
    expect(poolView(pool(row()), T0).unmade).toEqual({ asked: 1, refused: 0, unconfirmed: 0 });
    expect(spendOf(pool(row({ instance: "i-1" }))).perHour).toBeGreaterThan(0);
    const no = { ...failure, refused: true as const };
    const shown = [
      row({ failure: no }),
      row({ failure }),
      row(),
      row({ instance: "i-1" }),
      row({ kind: "self-hosted" }),
    ];
    expect(shown.map((one) => workerSummary(one, [], POOL).machine)).toEqual([
      "refused",
      "unconfirmed",
      "asked",
      "made",
      null,
    ]);
  });

  test.each<[string, Partial<WorkerFailure>, object]>([
    ["said no", { refused: true }, { refused: 1, unconfirmed: 0 }],
    ["was not reached", { unreached: true }, { refused: 0, unconfirmed: 1 }],
    ["cannot be found", { refused: true, unreached: true }, { refused: 0, unconfirmed: 1 }],
    ["gave no clear answer", {}, { refused: 0, unconfirmed: 1 }],
  ])("P3: only a provider that said no is counted so: it %s", (_what, more, counts) => {
    const state = pool(row({ failure: { ...failure, ...more } }));
    expect(poolView(state, T0).unmade).toEqual({ asked: 0, ...counts });
  });

  test.each<[string, Configured]>([
    ["no machine may be asked for", held(pool(), hold(null, { cause: "invalid" }))],
    [
      "a machine was asked for",
      held(pool(row({ failure, reason, waits: "create" })), hold(null, { cause: "invalid" })),
    ],
    ["a machine has had no turn", held(pool(row({ waits: "create" })), hold(null, { cause: "invalid" }))],
  ])(
    "P3: after `invalid` nothing is asked until the pool is applied again, and that is said: %s",
    (_w, state) => {
      expect(explainRun(state, "a", T0)?.next).toMatchObject({
        action: "ask for a machine once the pool has been applied again",
        at: null,
        waitsFor: "operator",
      });
    },
  );

  test("P3: the full stop of a provider does not stand before our own words", () => {
    const quota = hold(T0 + MINUTE, { cause: "quota", reason: "The account is full." });
    const worker = workerRow("w1", "shutdown");
    const state = held(configured({ maxInstances: 4 }, [waiting("a", vcpus(4))], [worker]), quota);
    expect(explainRun(state, "a", T0)?.reason.text).toMatch(
      /: The account is full; a machine that is ending/,
    );
  });
});
