import { reset } from "cloudflare:test";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { RunStatus } from "../../src/schema/run/run.ts";
import { expectEnd, type Scenario, specOf } from "../groups/scenario.ts";
import { SCENARIOS } from "../groups/scenarios.ts";
import { TestCloud } from "./support/cloud.ts";
import { type PlayedHost, startPlayedHost } from "./support/played-host.ts";
import { askedMachine, eventually, makePool, objects, submit } from "./support/world.ts";

// The scenarios of groups through real objects in workerd, all at a time before one host that plays them:
// what one of them does must be nothing to the others, the end of their agent neither.

let host: PlayedHost;
beforeAll(async () => {
  const cloud = new TestCloud();
  cloud.open();
  await makePool({ allowFakeDriver: true });
  await submit("first", { tasks: [{ name: "main", argv: ["play"], driver: "fake" }] });
  const { worker, code } = await askedMachine(cloud);
  host = startPlayedHost(worker, code);
});
afterAll(async () => {
  host.end();
  vi.restoreAllMocks();
  await reset();
});

const read = (id: string): Promise<RunStatus> => objects.allocation(id).read();

async function act(id: string, { once, what }: NonNullable<Scenario["act"]>): Promise<void> {
  await eventually(async () => {
    const { tasks } = await read(id);
    const running = tasks.filter(({ name, phase }) => once.includes(name) && phase === "running");
    return running.length === once.length || undefined;
  });
  if (what === "agent dies") await eventually(async () => host.restartAgent() || undefined);
  else await objects.allocation(id).abort({ reason: "enough", by: "ann", waitMs: 0 });
}

test.concurrent.each(SCENARIOS)("$name", async (scenario) => {
  const id = `group-${SCENARIOS.indexOf(scenario)}`;
  await submit(id, specOf(scenario, "fake"));
  if (scenario.act !== undefined) await act(id, scenario.act);
  const status = await eventually(async () => {
    const run = await read(id);
    return run.finishedAt === null ? undefined : run;
  });
  const { items: events } = await objects.allocation(id).events(0, 0);
  expectEnd(scenario, { status, events });
});

test("a group that is only played needs a pool that allows it", async () => {
  await makePool({}, "strict");
  const [scenario] = SCENARIOS;
  if (scenario === undefined) throw new Error("there are no scenarios");
  await expect(submit("refused", { ...specOf(scenario, "fake"), pool: "strict" })).rejects.toMatchObject({
    code: "fake_driver_not_allowed",
  });
});
