import { expect, test } from "vitest";
import { meter } from "../../src/objects/meter.ts";
import type { AttemptReport, Orders } from "../../src/schema/host.ts";
import { RunSpec, type RunSpecInput } from "../../src/schema/run.ts";
import type { TestHost } from "./support/host.ts";
import { bootMachine, eventually, freshWorld, makePool, objects } from "./support/world.ts";

const world = freshWorld();

const exited = (id: string, code: number): AttemptReport => ({
  id,
  state: "exited",
  startedAgoMs: 5,
  endedAgoMs: 1,
  exit: { code, signal: null, oomKilled: false, message: "" },
});

async function submit(id: string, spec: RunSpecInput): Promise<void> {
  const parsed = RunSpec.parse({ id, ...spec });
  await objects.allocation(id).submit({ spec: parsed, hash: JSON.stringify(parsed) });
}

/** Reports until the orders want this attempt to run. */
async function untilOrdered(host: TestHost, id: string): Promise<Orders> {
  return eventually(async () => {
    const orders = await host.report({}, 1_000);
    return orders.attempts.some((one) => one.id === id && one.want === "run") ? orders : undefined;
  });
}

async function readyHost(): Promise<TestHost> {
  await makePool();
  await submit("warm-up", { argv: ["true"] });
  const { host } = await bootMachine(world.cloud);
  await untilOrdered(host, "warm-up/main/1.1");
  host.attempts = [exited("warm-up/main/1.1", 0)];
  await host.report();
  host.attempts = [];
  await eventually(async () => ((await objects.allocation("warm-up").read()).finishedAt ? true : undefined));
  await host.report();
  return host;
}

const GROUP = { restart: { attempts: 5, delay: "50ms", interval: "1h" }, reschedule: { attempts: 0 } };
const main = (name: string) => ({ name, argv: ["true"] });

test.each<[string, RunSpecInput, AttemptReport[]]>([
  ["by itself", { tasks: [main("loop")], ...GROUP }, []],
  [
    "beside another",
    { tasks: [main("loop"), main("other")], ...GROUP },
    [{ id: "loop/other/1.1", state: "running", startedAgoMs: 5 }],
  ],
])("a restart of a task %s costs at most 3 rows", async (_what, spec, others) => {
  const host = await readyHost();
  await submit("loop", spec);
  await untilOrdered(host, "loop/loop/1.1");
  host.attempts = [exited("loop/loop/1.1", 1), ...others];
  await untilOrdered(host, "loop/loop/1.2");

  const before = meter.rowsWritten;
  host.attempts = [exited("loop/loop/1.2", 1), ...others];
  await untilOrdered(host, "loop/loop/1.3");
  const rows = meter.rowsWritten - before;
  console.info(`a restart: ${rows} rows written`);
  expect(rows).toBeLessThanOrEqual(3);

  host.attempts = [exited("loop/loop/1.3", 0), ...others.map(({ id }) => exited(id, 0))];
  const { restarts } = await eventually(async () => {
    await host.report();
    const { finishedAt, tasks } = await objects.allocation("loop").read();
    return finishedAt === null ? undefined : tasks[0];
  });
  expect(restarts).toBe(2);
});

test("each further task of a run costs at most one row, though all end one after the other", async () => {
  const host = await readyHost();
  const cost = async (id: string, names: string[]) => {
    const before = meter.rowsWritten;
    await submit(id, { tasks: names.map(main), ...GROUP });
    await untilOrdered(host, `${id}/a/1.1`);
    for (const [i] of names.entries()) {
      host.attempts = names.map((name, k) =>
        k <= i ? exited(`${id}/${name}/1.1`, 0) : running(`${id}/${name}/1.1`),
      );
      await host.report();
    }
    await eventually(async () => ((await objects.allocation(id).read()).finishedAt ? true : undefined));
    host.attempts = [];
    await host.report();
    return meter.rowsWritten - before;
  };
  const one = await cost("one", ["a"]);
  const four = await cost("four", ["a", "b", "c", "d"]);
  console.info(`a run of one task: ${one} rows written, of four: ${four}`);
  // The second report makes it a run that was seen to run, which the pool is told: one row, once.
  expect(four - one).toBeLessThanOrEqual(3 + 1);
});

function running(id: string): AttemptReport {
  return { id, state: "running", startedAgoMs: 5 };
}
