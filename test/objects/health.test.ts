import { expect, test } from "vitest";
import { meter } from "../../src/objects/meter.ts";
import type { CheckStatus } from "../../src/shared/health/words.ts";
import { openEdge } from "./support/edge.ts";
import type { TestHost } from "./support/host.ts";
import {
  bootMachine,
  eventually,
  freshWorld,
  letAlarmsFire,
  makePool,
  objects,
  submit,
} from "./support/world.ts";

const world = freshWorld();
const ID = "web/main/1.1";
const CHECK = { name: "http", http: { port: 8080 } };
const read = () => objects.allocation("web").read();

/** A host on which a run with a check runs. */
async function webHost(protocol?: number) {
  await makePool({ maxInstances: 1 });
  await submit("web", { checks: [CHECK], type: "service" });
  const { host, worker } = await bootMachine(world.cloud);
  if (protocol !== undefined) host.protocol = protocol;
  return { host, worker };
}

/** The host says that the command runs, and what its check says. */
function says(host: TestHost, status: CheckStatus, output = "", sinceAgoMs = 10) {
  const check = { name: "http", status, sinceAgoMs, ...(output === "" ? {} : { output }) };
  host.attempts = [{ id: ID, state: "running", startedAgoMs: 500, checks: [check] }];
  return host.report();
}

async function runningHost() {
  const { host, worker } = await webHost();
  await eventually(async () => (await host.report()).attempts.find(({ id }) => id === ID));
  await says(host, "pending");
  await eventually(async () => (await read()).state === "running" || undefined);
  return { host, worker };
}

/** The rows that are written while the host reports this, once everything has settled. */
async function rowsOf(worker: string, report: () => Promise<unknown>): Promise<number> {
  await letAlarmsFire(worker);
  const before = meter.rowsWritten;
  await report();
  return meter.rowsWritten - before;
}

test("a status that does not change writes nothing, however often it is said (health.md#rows)", async () => {
  const { host, worker } = await runningHost();
  await says(host, "passing");
  await eventually(async () => (await read()).health === "healthy" || undefined);
  const rows = await rowsOf(worker, async () => {
    for (let n = 0; n < 20; n += 1) await says(host, "passing", "", n * 1_000);
  });
  expect(rows).toBe(0);
  expect(await rowsOf(worker, () => says(host, "warning"))).toBeGreaterThan(0);
});

test("the text of a failure that changes all the time is written once (health.md#texts)", async () => {
  const { host, worker } = await runningHost();
  await says(host, "critical", "connection refused");
  await eventually(async () => (await read()).health === "unhealthy" || undefined);
  const rows = await rowsOf(worker, async () => {
    for (let n = 0; n < 20; n += 1) await says(host, "critical", `refused ${n}`);
  });
  expect(rows).toBe(0);
  expect((await read()).tasks[0]?.checks).toMatchObject([
    { status: "critical", output: "connection refused" },
  ]);
});

test("a wait for a healthy run ends when its checks pass, and with the run (health.md#wait)", async () => {
  const { host } = await runningHost();
  const waiting = objects.allocation("web").wait("healthy", 30_000);
  await says(host, "passing");
  expect((await waiting).health).toBe("healthy");
  await says(host, "critical", "refused");
  await eventually(async () => (await read()).health === "unhealthy" || undefined);
  const again = objects.allocation("web").wait("healthy", 30_000);
  const exit = { code: 3, signal: null, oomKilled: false, message: "" };
  host.attempts = [{ id: ID, state: "exited", startedAgoMs: 500, endedAgoMs: 1, exit }];
  await host.report();
  const ended = await again;
  expect(ended).toMatchObject({ state: "complete", exitCode: 3 });
  expect(ended.health).toBeUndefined();
});

test("lists and metrics show it, and `why` explains it (health.md#status, health.md#why)", async () => {
  const { admin } = openEdge();
  const { host } = await runningHost();
  await says(host, "critical", "connection refused");
  const [summary] = await eventually(async () => {
    const { items } = await objects.pool("default").list({ states: ["running"], labels: {} }, { limit: 10 });
    return items[0]?.health === "unhealthy" ? items : undefined;
  });
  expect(summary).toMatchObject({ id: "web", health: "unhealthy" });
  const text = await (await admin.send("GET", "/metrics")).text();
  expect(text).toContain('drover_checks{pool="default",status="critical"} 1\n');
  expect(text).toContain('drover_checks{pool="default",status="passing"} 0\n');
  const { reason } = await objects.allocation("web").why();
  expect(reason).toMatchObject({
    code: "unhealthy",
    text: /check `http` fails since .*: connection refused/,
  });
});

test("a host whose agent runs no checks gets no run with checks (health.md#old-hosts)", async () => {
  const { host } = await webHost(1);
  const why = await eventually(async () => {
    await host.report();
    const said = await objects.allocation("web").why();
    return said.reason.code === "agent_too_old" ? said : undefined;
  });
  expect(why.state).toBe("pending");
  expect((await read()).health).toBe("pending");
  expect((await host.report()).attempts).toEqual([]);
});
