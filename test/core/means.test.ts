import { describe, expect, test } from "vitest";
import { orderOf } from "../../src/core/allocation/placements/orders.ts";
import { upsertOf as runUpsertOf } from "../../src/core/allocation/summary.ts";
import { plan } from "../../src/core/pool/plan/plan.ts";
import { explainRun } from "../../src/core/pool/read/views.ts";
import { answerOrder } from "../../src/core/worker/placements.ts";
import { upsertOf } from "../../src/core/worker/read/summary.ts";
import { Report } from "../../src/schema/host.ts";
import type { TaskSpec } from "../../src/schema/run/run.ts";
import { ACTS, driverOf, needsOf, waitsToStart } from "../../src/shared/means.ts";
import { ordered, queued } from "./support/allocation.ts";
import { group, prestart, task } from "./support/group.ts";
import * as pools from "./support/pool.ts";
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
const means = (acts?: string[]) => ({
  means: { kill: "cgroup" as const, limits: [], ...(acts === undefined ? {} : { acts }) },
});

describe("what a task asks of its agent beyond a command", () => {
  test.each<[string, Parameters<typeof needsOf>[0], string[]]>([
    ["a command asks for nothing", [COMMAND], []],
    ["a user", [SPECIAL], ["user"]],
    ["artifacts", [{ artifacts: [] }], ["artifacts"]],
    ["N9: the names of Nomad in its environment", [{ compat: "nomad" }], ["compat"]],
    ["a script of the fake driver", [{ fake: FAKE }], ["fake"]],
    ["the tasks of a group ask together", [SPECIAL, COMMAND, { fake: FAKE }], ["fake", "user"]],
  ])("%s", (_what, tasks, needs) => {
    expect(needsOf(tasks)).toEqual(needs);
  });

  test("a task with a script has the fake driver, any other is a command", () => {
    expect([driverOf({ fake: FAKE }), driverOf(COMMAND)]).toEqual(["fake", "exec"]);
  });

  test("no run asks for an agent that waits by itself: its allocation can do that", () => {
    expect(waitsToStart(ACTS)).toBe(true);
    expect(waitsToStart()).toBe(false);
    expect(needsOf([{ ...SPECIAL, fake: FAKE, artifacts: [] }])).not.toContain("startInMs");
  });

  test("the pool hears of it; of a command it hears nothing", () => {
    const needsOfRun = (...tasks: object[]) =>
      runUpsertOf(queued({ ...group(...tasks), argv: undefined })).needs;
    expect(needsOfRun(task("main", { user: "nobody" }))).toEqual(["user"]);
    expect(needsOfRun(task("main"))).toBeUndefined();
  });
});

test("the first order names what any task of the run asks for, the later ones too", () => {
  const tasks = group(task("setup", prestart), task("main", { user: "nobody" }));
  const first = orderOf(ordered({ ...tasks, argv: undefined }), T0);
  expect(first?.attempts.map(({ id }) => id)).toEqual(["build-17/setup/1.1"]);
  expect(first?.needs).toEqual(["user"]);
});

describe("a worker refuses what its agent would not act on", () => {
  // Whatever is ordered first: the task that asks for it may come later.
  const wanted = order("a", { needs: ["user"] });
  const answer = (acts: string[] | undefined) => {
    const state = reloaded(at(ready(), T0, report(2, means(acts))));
    return answerOrder(at(state, T0, report(3, means(acts)), wanted), wanted.body);
  };

  test.each<[string, string[] | undefined, string]>([
    ["refused, where the agent has never said what it acts on", undefined, "ended"],
    ["refused, where it is not among what it acts on", ["fake"], "ended"],
    ["accepted, where it is, beside words of a later version", ["later", "user"], "accepted"],
  ])("%s", (_what, acts, kind) => {
    expect(answer(acts).kind).toBe(kind);
  });

  test("that is no placement that has begun (rule R2)", () => {
    expect(answer(undefined)).toEqual({ kind: "ended", how: "refused", held: false });
  });

  test("a command goes to any agent", () => {
    expect(answerOrder(at(ready(), T0, order("b")), order("b").body).kind).toBe("accepted");
  });

  test("the pool hears what an agent acts on when that changes, and only then", () => {
    const before = ready();
    const said = at(before, T0, report(2, means([...ACTS])));
    expect(upsertOf(said, T0)).toMatchObject({ version: before.record.version + 1, acts: ACTS });
    const again = at(said, T0, report(3, means([...ACTS].reverse())));
    expect(again.record).toBe(said.record);
    expect(upsertOf(at(again, T0, report(4, means())), T0).acts).toEqual([]);
  });

  test("a report may name more than this version knows, and nothing at all", () => {
    for (const acts of [undefined, [], ["of-a-later-version"]]) {
      const { success } = Report.safeParse({ ...FIRST_REPORT, ...means(acts) });
      expect(success).toBe(true);
    }
  });
});

describe("a run that asks for more than a command", () => {
  const { configured, placesOf, waiting, waitsOf, workerRow } = pools;
  const special = waiting("a", { needs: ["user"] });
  const old = workerRow("w1");
  const current = workerRow("w2", "ready", { acts: [...ACTS] });
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
    expect(planned.creates).toEqual(creates);
  });

  test("says for what they are too old, and what ends that", () => {
    const why = explainRun(configured(FULL, [special], [old]), "a", pools.T0);
    expect(why?.reason).toMatchObject({ code: "agent_too_old", text: expect.stringContaining("`user`") });
    expect(why?.next.action).toContain("newer agent");
  });
});
