import { expect, test } from "vitest";
import { meter } from "../../src/objects/meter.ts";
import type { AttemptReport, Orders } from "../../src/schema/host.ts";
import type { RunSpecInput } from "../../src/schema/run/run.ts";
import type { TestHost } from "./support/host.ts";
import {
  bootMachine,
  eventually,
  freshWorld,
  holdReport,
  letAlarmsFire,
  makePool,
  objects,
  submit,
} from "./support/world.ts";

const world = freshWorld();

type TaskInput = NonNullable<RunSpecInput["tasks"]>[number];
type Lifecycle = TaskInput["lifecycle"];

/** Rows of a hot run of one command (`hot-run.test.ts`). */
const HOT_RUN = 7;
const QUIET = { reschedule: { attempts: 0 } };
const ONCE = { restart: { attempts: 0, mode: "fail" as const }, ...QUIET };
const LOOP = { restart: { attempts: 5, delay: "50ms", interval: "1h" }, ...QUIET };

const running = (id: string): AttemptReport => ({ id, state: "running", startedAgoMs: 5 });
const exited = (id: string, code = 0): AttemptReport => ({
  id,
  state: "exited",
  startedAgoMs: 5,
  endedAgoMs: 1,
  exit: { code, signal: null, oomKilled: false, message: "" },
});

function tasks(count: number, lifecycle?: Lifecycle, more: Partial<TaskInput> = {}): TaskInput[] {
  const name = `${lifecycle?.hook ?? "main"}${lifecycle?.sidecar ? "-sidecar" : ""}`;
  return Array.from({ length: count }, (_, i) => {
    return {
      name: `${name}-${i}`,
      argv: ["true"],
      resources: { vcpus: 0 },
      ...(lifecycle && { lifecycle }),
      ...more,
    };
  });
}

/** Reports until the orders want this attempt to run. */
async function untilOrdered(host: TestHost, id: string): Promise<Orders> {
  return eventually(async () => {
    const orders = await host.report({}, 1_000);
    return orders.attempts.some((one) => one.id === id && one.want === "run") ? orders : undefined;
  });
}

/** That it runs the pool is told once, whatever becomes of its tasks. */
async function runsInPool(): Promise<true | undefined> {
  const page = await objects.pool("default").list({ states: ["running"], labels: {} }, { limit: 1 });
  return page.items.length > 0 || undefined;
}

const hasEnded = async (id: string) => (await objects.allocation(id).read()).finishedAt !== null;

/** A host that is ready and idle. What its worker and pool do by themselves is over for a minute. */
async function readyHost(): Promise<TestHost> {
  await makePool();
  await submit("warm-up");
  const { worker, host } = await bootMachine(world.cloud);
  await untilOrdered(host, "warm-up/main/1.1");
  host.attempts = [exited("warm-up/main/1.1")];
  await eventually(async () => ((await host.report()).attempts.length === 0 ? true : undefined));
  host.attempts = [];
  await host.report();
  await letAlarmsFire(worker);
  return host;
}

/**
 * What a run costs from its submission until its end is known everywhere. One alarm that is set after the
 * first is left out: on a busy machine the run lasts longer than until the first one fires. Its host does
 * what it is ordered: what it is told to stop ends at once, sidecars never by themselves, all others one
 * after the other, and what others wait for to run, last.
 */
async function rowsOfRun(host: TestHost, id: string, group: TaskInput[]): Promise<number> {
  const held = await holdReport(host);
  const before = { ...meter };
  await submit(id, { argv: undefined, tasks: group, ...ONCE });
  const followed = group.some(({ lifecycle }) => lifecycle?.hook === "poststart");
  for (let orders = await held.answer; !(await hasEnded(id)); orders = await host.report({}, 20)) {
    const { attempts } = orders;
    const over = new Set(host.attempts.flatMap((one) => (one.state === "exited" ? one.id : [])));
    const live = attempts.filter((one) => !over.has(one.id));
    const mayEnd = (one: { id: string }) =>
      !one.id.includes("sidecar") &&
      (!followed || !one.id.includes("main") || attempts.length === group.length);
    const first = live.find(({ want }) => want === "stop") ?? live.findLast(mayEnd);
    if (first !== undefined) over.add(first.id);
    host.attempts = attempts.map((one) => (over.has(one.id) ? exited(one.id) : running(one.id)));
  }
  host.attempts = [];
  await host.report();
  const secondAlarm = meter.alarmsSet - before.alarmsSet > 1 ? 1 : 0;
  return meter.rowsWritten - before.rowsWritten - secondAlarm;
}

/**
 * Groups of each lifecycle, and what their lives cost beside their tasks: a row for each order that opens a
 * stage or begins to stop what is left, and one for the report of a start that a stage waits for.
 */
const GROUPS: [string, number, (count: number) => TaskInput[]][] = [
  ["main", 0, (count) => tasks(count)],
  ["prestart", 1, (count) => [...tasks(count, { hook: "prestart" }), ...tasks(1)]],
  ["prestart sidecar", 3, (count) => [...tasks(count, { hook: "prestart", sidecar: true }), ...tasks(1)]],
  ["poststart", 2, (count) => [...tasks(1), ...tasks(count, { hook: "poststart" })]],
  ["poststart sidecar", 3, (count) => [...tasks(1), ...tasks(count, { hook: "poststart", sidecar: true })]],
  ["poststop", 1, (count) => [...tasks(1), ...tasks(count, { hook: "poststop" })]],
  ["beside a leader", 1, (count) => [...tasks(count), ...tasks(1, undefined, { name: "a", leader: true })]],
];

test.each(GROUPS)("each further task of a run (%s) costs at most one row", async (what, orders, groupOf) => {
  const host = await readyHost();
  const rows: Record<number, number> = {};
  for (const count of [1, 2, 4, 8]) {
    const group = groupOf(count);
    rows[count] = await rowsOfRun(host, `run-${count}`, group);
    // What outlives the report of another is seen to run, which the pool is told: one row, once.
    expect(rows[count]).toBeLessThanOrEqual(HOT_RUN + (group.length - 1) + orders + 1);
  }
  console.info(`groups, by number of tasks (${what}): ${JSON.stringify(rows)} rows written`);
});

test("tasks of a run that end together cost nothing more than one", async () => {
  const host = await readyHost();
  const held = await holdReport(host);
  const before = meter.rowsWritten;
  await submit("run", { argv: undefined, tasks: tasks(8), ...ONCE });
  const { attempts } = await held.answer;
  host.attempts = attempts.map(({ id }) => exited(id));
  await eventually(async () => ((await host.report()).attempts.length === 0 ? true : undefined));
  expect(meter.rowsWritten - before).toBeLessThanOrEqual(HOT_RUN);
});

/** A run with a task called loop, what its host says of the others, and of what that task does. */
interface Restarted {
  spec: RunSpecInput;
  others?: AttemptReport[];
  /** Whether each attempt is reported to run before it ends. */
  seen?: boolean;
  protocol?: number;
}

const loop = (others: TaskInput[] = []) => {
  return { argv: undefined, tasks: [{ name: "loop", argv: ["true"] }, ...others], ...LOOP };
};

test.each<[string, number, Restarted]>([
  ["by itself", 2, { spec: loop() }],
  ["beside another", 2, { spec: loop(tasks(1)), others: [running("loop/main-0/1.1")] }],
  // That an attempt runs is stored before anybody reads it (rule R1).
  ["that is seen to run", 3, { spec: loop(), seen: true }],
  // Its delay needs an alarm, and a mark that the delay is over (restart.md#the-decision).
  ["whose agent does not wait by itself", 4, { spec: loop(), protocol: 0 }],
  ["of such an agent, seen to run", 5, { spec: loop(), protocol: 0, seen: true }],
])("a restart of a task %s costs at most %i rows", async (what, budget, restarted) => {
  const { spec, others = [], seen = false, protocol } = restarted;
  const host = await readyHost();
  if (protocol !== undefined) {
    host.protocol = protocol;
    await host.report();
  }
  await submit("loop", spec);
  await untilOrdered(host, "loop/loop/1.1");
  host.attempts = [exited("loop/loop/1.1", 1), ...others];
  await untilOrdered(host, "loop/loop/1.2");
  await eventually(runsInPool);

  const before = meter.rowsWritten;
  if (seen) {
    host.attempts = [running("loop/loop/1.2"), ...others];
    await host.report();
    await eventually(async () => {
      const { tasks: known } = await objects.allocation("loop").read();
      return known[0]?.phase === "running" || undefined;
    });
  }
  host.attempts = [exited("loop/loop/1.2", 1), ...others];
  await untilOrdered(host, "loop/loop/1.3");
  const rows = meter.rowsWritten - before;
  console.info(`a restart of a task ${what}: ${rows} rows written`);
  expect(rows).toBeLessThanOrEqual(budget);

  host.attempts = [exited("loop/loop/1.3"), ...others.map(({ id }) => exited(id))];
  const { restarts } = await eventually(async () => {
    await host.report();
    const { finishedAt, tasks: known } = await objects.allocation("loop").read();
    return finishedAt === null ? undefined : known[0];
  });
  expect(restarts).toBe(2);
});
