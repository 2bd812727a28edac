import { afterEach, beforeEach, expect, test } from "vitest";
import type { SignalOrder } from "../../src/schema/host.ts";
import { type Bench, openBench, run } from "./support/bench.ts";

// Signals to real processes: host-protocol.md#orders.

const ID = "build-17/main/1.1";
const COUNT =
  "n=0; trap 'n=$((n+1)); echo got $n' HUP; trap 'echo other' USR1; echo ready; while :; do sleep 0.02; done";

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(async () => {
  const { faults } = bench.plane;
  await bench.close();
  expect(faults).toEqual([]);
});

const hup = (n: number): SignalOrder => ({ id: ID, signal: "SIGHUP", n });
const order = (...signals: SignalOrder[]) => bench.plane.order([run(ID, ["sh", "-c", COUNT])], { signals });
const says = (words: string) =>
  bench.plane.until(`it says ${words}`, () => bench.plane.stored(ID).toString() === words);
const seen = () =>
  bench.plane.until(
    "the orders were seen",
    () => bench.plane.reports.at(-1)?.ordersSeen === bench.plane.revision,
  );

test("the main process gets each signal once, in their order", async () => {
  bench.start();
  order();
  await says("ready\n");
  order(hup(1));
  await says("ready\ngot 1\n");
  order(hup(1));
  await seen();
  order(hup(1), hup(2));
  await says("ready\ngot 1\ngot 2\n");
  order(hup(1), hup(2), { id: ID, signal: "SIGKILL", n: 3 });
  expect((await bench.plane.untilStored(ID)).exit).toMatchObject({ code: null, signal: "SIGKILL" });
  expect(bench.plane.stored(ID).toString()).toBe("ready\ngot 1\ngot 2\n");
});

test("a later start of the agent sends none again, and those that came in between", async () => {
  const agent = bench.start();
  order();
  await says("ready\n");
  order(hup(1));
  await says("ready\ngot 1\n");
  agent.child.kill("SIGKILL");
  await agent.ended;
  order(hup(1), { id: ID, signal: "SIGUSR1", n: 2 });
  bench.start();
  await says("ready\ngot 1\nother\n");
  order(hup(1), { id: ID, signal: "SIGKILL", n: 3 });
  await bench.plane.untilStored(ID);
  expect(bench.plane.stored(ID).toString()).toBe("ready\ngot 1\nother\n");
});
