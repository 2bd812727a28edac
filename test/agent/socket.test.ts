import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Bench, openBench, run, stop } from "./support/bench.ts";

// The agent on a socket (host-protocol.md#socket), with real processes and a real WebSocket.

const ID = "build-17/main/1.1";

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
  bench.plane.givesSockets = true;
});
afterEach(async () => {
  const { faults } = bench.plane;
  await bench.close();
  expect(faults).toEqual([]);
});

const online = () =>
  bench.plane.until("a report on the socket", () => bench.plane.sockets.size > 0 && reported());
const reported = () => bench.plane.reports.length > 0;
const webhooks = () => bench.plane.calls.filter(({ path }) => path.endsWith("/reports")).length;

test("orders are carried out as they are pushed, and reported on, without any webhook", async () => {
  bench.start();
  await online();
  bench.plane.order([run(ID, ["sh", "-c", "echo hello; exit 7"])]);
  const { exit } = await bench.plane.untilStored(ID);
  expect(exit?.code).toBe(7);
  expect(bench.plane.stored(ID).toString()).toBe("hello\n");
  bench.plane.order([]);
  await bench.plane.until("it is forgotten", () => bench.processes().length === 0);
  expect(webhooks()).toBe(0);
  expect(bench.plane.reports[0]?.full).toBe(true);
});

test.each([
  ["is a directory", 'mkdir "$file"'],
  ["leads nowhere", 'ln -s "$file" "$file"'],
])("a command whose log %s loses its own log, and nobody's agent", async (_what, replace) => {
  const agent = bench.start();
  await online();
  const where = `file=$(echo ${bench.stateDir}/attempts/*/stdout)`;
  const script = `${where}; rm "$file"; ${replace}; echo >&2 done; exit 7`;
  bench.plane.order([run(ID, ["sh", "-c", script])]);
  const exited = bench.plane.until("its exit", () => bench.plane.attempt(ID)?.exit);
  expect((await Promise.race([exited, agent.ended])).code).toBe(7);
  await bench.plane.until("its other stream", () => bench.plane.stored(ID, "stderr").toString() === "done\n");
  expect(agent.child.exitCode).toBe(null);
});

test("output beyond one report arrives whole and in order", async () => {
  bench.start();
  await online();
  bench.plane.order([run(ID, ["seq", "1", "300000"])]);
  await bench.plane.untilStored(ID);
  const lines = bench.plane.stored(ID).toString().split("\n");
  expect(lines.length).toBe(300_001);
  expect(lines.every((line, index) => line === (index < 300_000 ? String(index + 1) : ""))).toBe(true);
});

describe("when the socket breaks", () => {
  test("it is opened anew, and what happened in between is told", async () => {
    bench.start();
    await online();
    const enough = join(bench.dir, "enough");
    const script = `while [ ! -e ${enough} ]; do sleep 0.02; done; exit 3`;
    bench.plane.order([run(ID, ["sh", "-c", script])]);
    await bench.plane.untilState(ID, "running");
    const before = bench.plane.reports.length;
    for (const socket of bench.plane.sockets) socket.terminate();
    writeFileSync(enough, "");
    const { exit } = await bench.plane.untilState(ID, "exited");
    expect(exit?.code).toBe(3);
    expect(bench.plane.reports[before]?.full).toBe(true);
    await bench.plane.until("the next socket", () => bench.plane.sockets.size > 0);
  });

  test.each([404, 503])("and none is given any more (%i), the webhook does all of it", async (status) => {
    bench.start();
    await online();
    bench.plane.override = ({ path }) => (path.endsWith("/socket") ? { status } : undefined);
    for (const socket of bench.plane.sockets) socket.terminate();
    await bench.plane.until("a webhook is held", () => bench.plane.holds);
    bench.plane.order([run(ID, ["sleep", "300"])]);
    await bench.plane.untilState(ID, "running");
    bench.plane.order([stop(ID)]);
    await bench.plane.untilState(ID, "exited");
  });

  test("for a later start of the agent, this one ends, and its tasks with it", async () => {
    const agent = bench.start();
    await online();
    bench.plane.order([run(ID, ["sleep", "300"])]);
    await bench.plane.untilState(ID, "running");
    for (const socket of bench.plane.sockets) {
      bench.plane.say(socket, { refused: { status: 409, detail: "a later start" } });
    }
    expect(await agent.ended).toEqual({ code: 3, signal: null });
    expect(bench.processes()).toEqual([]);
  });
});

test("a socket that was refused is asked for again, signed anew", async () => {
  let refused = 0;
  bench.plane.override = ({ path, headers }) => {
    if (!path.endsWith("/socket") || refused > 0) return undefined;
    refused += 1;
    expect(headers["signature-input"]).toContain('tag="drover-socket"');
    return { status: 401 };
  };
  bench.start();
  await online();
  expect(refused).toBe(1);
});
