import { describe, expect, test } from "vitest";
import { driverOf } from "../../agent/drivers/driver.ts";
import { orderOf } from "../../src/core/allocation/placements/orders.ts";
import { upsertOf as runUpsertOf } from "../../src/core/allocation/summary.ts";
import { plan } from "../../src/core/pool/plan/plan.ts";
import { explainRun } from "../../src/core/pool/read/views.ts";
import { answerOrder } from "../../src/core/worker/placements.ts";
import { upsertOf } from "../../src/core/worker/read/summary.ts";
import { Report } from "../../src/schema/host.ts";
import type { TaskSpec } from "../../src/schema/run/run.ts";
import { keepsTime, PROTOCOL, protocolOf } from "../../src/shared/compat.ts";
import { ordered, queued } from "./support/allocation.ts";
import { group, prestart, task } from "./support/group.ts";
import * as pools from "./support/pool.ts";
import { createsOf } from "./support/pool.ts";
import { at, order, ready, reloaded, report, T0, TASK } from "./support/worker.ts";

const FAKE = {
  runForMs: 0,
  exitCode: 0,
  blockStartMs: 0,
  ignoreSignals: false,
  output: [],
  dieWithAgent: false,
};
const COMMAND: TaskSpec = TASK;
const SPECIAL = { ...TASK, user: "nobody" };
const FIRST_REPORT = { incarnation: 1, seq: 1, full: true, ordersSeen: 0, attempts: [] };
const means = (protocol?: number) =>
  protocol === undefined ? {} : { means: { kill: "cgroup" as const, limits: [], protocol } };

describe("what a task asks of its agent beyond a command", () => {
  test.each<[string, Parameters<typeof protocolOf>[0], number]>([
    ["a command asks for nothing", [COMMAND], 0],
    ["a user", [SPECIAL], 1],
    ["artifacts", [{ artifacts: [] }], 1],
    ["N9: the names of Nomad in its environment", [{ compat: "nomad" }], 1],
    ["a script of the fake driver", [{ fake: FAKE }], 1],
    ["a payload (jobs.md#payload)", [{ payload: { path: "in", content: "" } }], 2],
    ["checks (health.md#old-hosts)", [COMMAND, { ...SPECIAL, checks: [] }], 2],
    ["the tasks of a group ask together", [SPECIAL, COMMAND, { fake: FAKE }], 1],
  ])("%s", (_what, tasks, protocol) => {
    expect(protocolOf(tasks)).toBe(protocol);
  });

  test("a task with a script has the fake driver, any other is a command", () => {
    expect([driverOf({ fake: FAKE }), driverOf(COMMAND)]).toEqual(["fake", "exec"]);
  });

  test("no run asks for an agent that waits by itself: its allocation can do that", () => {
    expect(keepsTime(PROTOCOL)).toBe(true);
    expect(keepsTime(0)).toBe(false);
    expect(protocolOf([COMMAND])).toBe(0);
  });

  test("the pool hears of it", () => {
    const asked = (...tasks: object[]) =>
      runUpsertOf(queued({ ...group(...tasks), argv: undefined })).protocol;
    expect(asked(task("main", { user: "nobody" }))).toBe(1);
    expect(asked(task("main"))).toBe(0);
  });
});

test("the first order names what any task of the run asks for, the later ones too", () => {
  const tasks = group(task("setup", prestart), task("main", { user: "nobody" }));
  const first = orderOf(ordered({ ...tasks, argv: undefined }), T0);
  expect(first?.attempts.map(({ id }) => id)).toEqual(["build-17/setup/1.1"]);
  expect(first?.protocol).toBe(1);
});

describe("a worker refuses what its agent would not act on", () => {
  // Whatever is ordered first: the task that asks for it may come later.
  const wanted = order("a", { protocol: 1 });
  const answer = (protocol?: number) => {
    const state = reloaded(at(ready(), T0, report(2, means(protocol))));
    return answerOrder(at(state, T0, report(3, means(protocol)), wanted), wanted.body);
  };

  test.each<[string, number | undefined, string]>([
    ["refused, where the host has never said what it speaks", undefined, "ended"],
    ["refused, where it takes commands only", 0, "ended"],
    ["accepted, where it acts on that", 1, "accepted"],
    ["accepted, where it is of a later version", 2, "accepted"],
  ])("%s", (_what, protocol, kind) => {
    expect(answer(protocol).kind).toBe(kind);
  });

  test("that is no placement that has begun (rule R2)", () => {
    expect(answer(undefined)).toEqual({ kind: "ended", how: "refused", held: false });
  });

  test("a command goes to any agent", () => {
    expect(answerOrder(at(ready(), T0, order("b")), order("b").body).kind).toBe("accepted");
  });

  test("the pool hears what a host speaks when that changes, and only then", () => {
    const before = ready();
    const said = at(before, T0, report(2, means(1)));
    expect(upsertOf(said, T0)).toMatchObject({ version: before.record.version + 1, protocol: 1 });
    const again = at(said, T0, report(3, means(1)));
    expect(again.record).toBe(said.record);
    expect(upsertOf(at(again, T0, report(4, means())), T0).protocol).toBe(0);
  });

  test("a report may name more than this version knows, and nothing at all", () => {
    for (const protocol of [undefined, 0, PROTOCOL + 1]) {
      const { success } = Report.safeParse({ ...FIRST_REPORT, ...means(protocol) });
      expect(success).toBe(true);
    }
  });
});

describe("a run that asks for more than a command", () => {
  const { configured, placesOf, waiting, waitsOf, workerRow } = pools;
  const special = waiting("a", { protocol: 1 });
  const old = workerRow("w1");
  const current = workerRow("w2", "ready", { protocol: PROTOCOL });
  const FULL = { maxInstances: 1 };

  test.each<[string, Parameters<typeof configured>, { places: string[]; waits: object; creates: string[] }]>([
    [
      "is placed where the agent acts on it",
      [{}, [special], [old, current]],
      { places: ["a@w2"], waits: {}, creates: [] },
    ],
    [
      "has a machine asked for, since a new one has the agent of today",
      [{}, [special], [old]],
      { places: [], waits: { a: "machine_asked" }, creates: ["small"] },
    ],
    [
      "waits for a machine that boots",
      [FULL, [special], [workerRow("w3", "booting")]],
      { places: [], waits: { a: "machine_booting w3" }, creates: [] },
    ],
    [
      "waits with a reason while all that may be are too old",
      [FULL, [special], [old]],
      { places: [], waits: { a: "agent_too_old" }, creates: [] },
    ],
    [
      "blocks no command behind it",
      [FULL, [special, waiting("b")], [old]],
      { places: ["b@w1"], waits: { a: "agent_too_old" }, creates: [] },
    ],
    [
      "waits for room where the old ones have none",
      [FULL, [pools.placed("x", "w1", pools.vcpus(4)), special], [old]],
      { places: [], waits: { a: "max_instances" }, creates: [] },
    ],
  ])("%s", (_what, args, { places, waits, creates }) => {
    const planned = plan(configured(...args), pools.T0);
    expect(placesOf(configured(...args))).toEqual(places);
    expect(waitsOf(planned)).toEqual(waits);
    expect(createsOf(planned)).toEqual(creates);
  });

  test("says for what they are too old, and what ends that", () => {
    const why = explainRun(configured(FULL, [special], [old]), "a", pools.T0);
    expect(why?.reason).toMatchObject({ code: "agent_too_old", text: expect.stringContaining("`user`") });
    expect(why?.next.action).toContain("newer agent");
  });
});
