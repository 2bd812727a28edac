import { runDurableObjectAlarm } from "cloudflare:test";
import { expect, test } from "vitest";
import { meter } from "../../src/objects/meter.ts";
import { STREAMS } from "../../src/shared/attempt-id.ts";
import { openSocket } from "./support/socket-host.ts";
import {
  bindings,
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

/** The rows that a hot run costs on a machine that is not busy (budgets.md#a-hot-run). */
const ROWS = 7;

/** The requests over a socket: six, and a message. */
const SOCKET_REQUESTS = 6.05;

/**
 * What was written since. One alarm that is set after the first is left out: on a busy machine the run lasts
 * longer than until the first one fires.
 */
function rowsSince(before: typeof meter): number {
  const secondAlarm = meter.alarmsSet - before.alarmsSet > 1 ? 1 : 0;
  return meter.rowsWritten - before.rowsWritten - secondAlarm;
}

/** Messages of a socket that are billed as one request. */
const MESSAGES_A_REQUEST = 20;

const EXITED = {
  state: "exited" as const,
  peaks: { memoryBytes: 9_000_000, cacheBytes: 4_096, cpuMs: 12.5, cpus: 0.5, diskBytes: 4_096 },
  startedAgoMs: 5,
  endedAgoMs: 1,
  exit: { code: 0, signal: null, oomKilled: false, message: "" },
};

/** A run that the pool knows to be complete. Asking is a request too, which must not be counted. */
async function completeInPool(run: string, counted = { ...meter }) {
  const { items } = await objects.pool("default").list({ states: ["complete"], labels: {} }, { limit: 10 });
  counted.requests += 1;
  return items.find(({ id }) => id === run);
}

/**
 * Fires the alarms that the start has set, such as the one that sends a message again whose answer is late.
 * On a slow machine they would fire while the run is counted, although they are not part of its cost.
 */
async function fireEarlierAlarms(worker: string): Promise<void> {
  await runDurableObjectAlarm(bindings.REGISTRY.getByName("registry"));
  await runDurableObjectAlarm(bindings.ALLOCATION.getByName("warm-up"));
  await letAlarmsFire(worker);
}

/** Fires the one alarm of the run itself, which finds nothing left to do, unless it has fired by itself. */
const fireOwnAlarm = () => runDurableObjectAlarm(bindings.ALLOCATION.getByName("hot"));

/** What one run on a ready host costs, counted until its end is acknowledged everywhere. */
async function hotRun(output: string, stamps?: number[]) {
  await makePool();
  await submit("warm-up");
  const { worker, host } = await bootMachine(world.cloud);
  await host.report({}, 1_000);
  host.attempts = [{ id: "warm-up/main/1.1", ...EXITED }];
  await host.report();
  host.attempts = [];
  await eventually(() => completeInPool("warm-up"));
  await fireEarlierAlarms(worker);
  const held = await holdReport(host);
  const before = { ...meter };

  await submit("hot");
  const orders = await held.answer;
  expect(orders.attempts.map(({ id, want }) => `${id} ${want}`)).toEqual(["hot/main/1.1 run"]);
  const piece = { from: 0, size: output.length, data: btoa(output), ...(stamps && { stamps }) };
  const data = output === "" ? {} : { log: { stdout: piece, ...(stamps && { stderr: piece }) } };
  host.attempts = [{ id: "hot/main/1.1", ...EXITED, ...data }];
  const after = await host.report();
  expect(after.attempts).toEqual([]);
  host.attempts = [];
  await host.report({}, 50);
  const summary = await eventually(() => completeInPool("hot", before));
  await fireOwnAlarm();

  const cost = {
    rows: rowsSince(before),
    requests: meter.requests - before.requests,
    commits: meter.commits - before.commits,
  };
  const status = await objects.allocation("hot").read();
  return { worker, cost, status, summary };
}

test.each([
  ["no output", ""],
  ["small output", "hello\n"],
])(
  "a hot run with %s costs at most 7 rows and 8 object requests (budgets.md#budgets)",
  async (_name, output) => {
    const { cost, status, summary, worker } = await hotRun(output);
    console.info(
      `a hot run, ${output.length} bytes of output: ${cost.rows} rows written, ${cost.requests} requests`,
    );
    expect(status).toMatchObject({
      state: "complete",
      exitCode: 0,
      placements: [{ epoch: 1, worker, outcome: "gone" }],
    });
    // The type of the machine has no price, so the cost is not known; its failure is none.
    const unknown = { amount: null, unpriced: 1, perHour: 0 };
    expect(summary).toMatchObject({ id: "hot", state: "complete", exitCode: 0, cost: unknown });
    expect(summary).not.toHaveProperty("failure");
    expect(cost.rows).toBeLessThanOrEqual(ROWS);
    expect(cost.requests).toBeLessThanOrEqual(8);
    // A step that changes nothing that is stored needs no transaction.
    expect(cost.commits).toBeLessThanOrEqual(cost.rows);
  },
);

test("stamps of both streams cost a hot run no row and no request (budgets.md#stamps)", async () => {
  const { cost } = await hotRun("a\nb\n", [2, 1, 2, 3]);
  expect(cost.rows).toBeLessThanOrEqual(ROWS);
  expect(cost.requests).toBeLessThanOrEqual(8);
  const request = { task: "main", streams: STREAMS, from: { stdout: 0, stderr: 0 }, waitMs: 0 };
  const { items } = await objects.allocation("hot").arrivals(request);
  expect(items.map(({ stream, from, to }) => [stream, from, to])).toEqual([
    ["stdout", 0, 2],
    ["stderr", 0, 2],
    ["stdout", 2, 4],
    ["stderr", 2, 4],
  ]);
});

/** The same over a socket, on which a message is billed as a twentieth of a request (platform.md#billing). */
test("a hot run over a socket costs fewer requests, and no more rows", async () => {
  await makePool();
  await submit("warm-up");
  const { worker, host } = await bootMachine(world.cloud);
  const socket = await openSocket(host);
  await socket.report(host, { attempts: [{ id: "warm-up/main/1.1", ...EXITED }] });
  await eventually(() => completeInPool("warm-up"));
  await socket.orders(({ attempts }) => attempts.length === 0);
  await fireEarlierAlarms(worker);
  socket.frames.length = 0;
  const before = { ...meter };

  await submit("hot");
  await socket.orders(({ attempts }) => attempts.length > 0);
  socket.frames.length = 0;
  await socket.report(host, { full: false, attempts: [{ id: "hot/main/1.1", ...EXITED }] });
  await socket.orders(({ attempts }) => attempts.length === 0);
  await eventually(() => completeInPool("hot", before));
  await fireOwnAlarm();

  const rows = rowsSince(before);
  const messages = 1;
  const requests = meter.requests - before.requests - messages + messages / MESSAGES_A_REQUEST;
  console.info(`a hot run over a socket: ${rows} rows written, ${requests} requests`);
  expect(rows).toBeLessThanOrEqual(ROWS);
  expect(requests).toBeLessThanOrEqual(SOCKET_REQUESTS);
});
