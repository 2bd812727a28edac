import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../local/support/scratch.ts";
import { endDrover, makeHome, type RunningDrover, startDrover } from "./support/drover.ts";
import type { Json } from "./support/edge.ts";
import { endOf } from "./support/ends.ts";

// Sticky runs through the whole of Drover: decisions/runs.md#sticky-data; tasks.md#sticky-data.

let home: string;
let up: RunningDrover;
beforeAll(async () => {
  home = makeHome("sticky");
  up = await startDrover(home);
});
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

const sh = (name: string, script: string) => ({
  name,
  argv: ["sh", "-c", script],
  dir: ".",
  restart: { attempts: 0 },
});

/** A group of which `main` does this, placed anew once, 5 s later. */
async function submit(id: string, script: string): Promise<void> {
  const tasks = [sh("main", script), sh("beside", "true")];
  const resources = { vcpus: 0, memory: "64MiB" };
  const reschedule = { attempts: 1, delay: "5s" };
  await up.json(201, "POST", "/v1/runs", { id, tasks, resources, sticky: true, reschedule });
}

const outputOf = async (id: string) => (await up.call("GET", `/v1/runs/${id}/logs/main/stdout`)).text();

async function dataEventsOf(id: string): Promise<string[]> {
  const { items } = await up.json(200, "GET", `/v1/runs/${id}/events`);
  const found = items.filter((event: Json) => event.type.startsWith("Data "));
  return found.map((event: Json) => `${event.type}: ${event.message}`);
}

const COUNT =
  'echo x >>tried; echo y >>"$DROVER_ALLOC_DIR/data/tried"; cat tried "$DROVER_ALLOC_DIR/data/tried"';

/** What the machines keep of ended placements. */
function keptHere(): string[] {
  const instances = join(up.stateDir, "instances");
  return readdirSync(instances).flatMap((name) => readdirSync(join(instances, name, "agent", "kept")));
}

test("a group that has failed goes on with its data on the worker that had it", async () => {
  await submit("again", `${COUNT}; [ "$(wc -l <tried)" = 2 ]`);
  const run = await endOf(up, "again");
  expect(run).toMatchObject({ state: "complete", spec: { sticky: true } });
  const [first, second] = run.placements;
  expect([second.worker, run.placements.length]).toEqual([first.worker, 2]);
  expect(await outputOf("again")).toBe("x\nx\ny\ny\n");
  expect(await dataEventsOf("again")).toEqual([
    expect.stringMatching(/^Data Stored: /),
    "Data Moved: its directories continue with what placement 1 left on this worker",
  ]);
  // Its end is known on the machine by the word of the control plane alone.
  await until("nothing of it is kept", () => keptHere().length === 0 || undefined);
});

test("N9: one whose worker takes nothing more goes on with its data on another", async () => {
  const drained = join(home, "drained");
  const wait = `${COUNT}; while [ ! -e ${drained} ]; do sleep 0.1; done; [ "$(wc -l <tried)" = 2 ]`;
  await submit("carried", wait);
  await until("it has begun", async () => ((await outputOf("carried")) === "x\ny\n" ? true : undefined));
  const [first] = (await up.json(200, "GET", "/v1/runs/carried")).placements;
  await up.json(200, "POST", `/v1/workers/${first.worker}/drain`, {});
  writeFileSync(drained, "");
  const run = await endOf(up, "carried");
  expect(run).toMatchObject({ state: "complete", placements: [{ outcome: "gone" }, { outcome: "gone" }] });
  expect(run.placements[1].worker).not.toBe(first.worker);
  expect(await outputOf("carried")).toBe("x\nx\ny\ny\n");
  expect(await dataEventsOf("carried")).toEqual([
    expect.stringMatching(/^Data Stored: its data \(\d files, \w+\) are stored as sha256:[0-9a-f]{64}$/),
    `Data Moved: its directories continue with what placement 1 left on worker ${first.worker}`,
  ]);
});

test("one whose machine is killed begins with nothing elsewhere, and says so", async () => {
  const again = join(home, "again");
  await submit("moved", `${COUNT}; [ -e ${again} ] || { : >${again}; echo on; sleep 600; }`);
  await until("it has begun", async () => ((await outputOf("moved")) === "x\ny\non\n" ? true : undefined));
  const { placements } = await up.json(200, "GET", "/v1/runs/moved");
  await up.json(200, "POST", `/v1/workers/${placements[0].worker}/kill`, {});
  const run = await endOf(up, "moved");
  expect(run).toMatchObject({ state: "complete", placements: [{ outcome: "lost" }, { outcome: "gone" }] });
  expect(run.placements[1].worker).not.toBe(placements[0].worker);
  expect(await outputOf("moved")).toBe("x\ny\n");
  expect(await dataEventsOf("moved")).toEqual([
    `Data Lost: it begins with empty directories: its data stayed on worker ${placements[0].worker}, ` +
      "which was lost",
  ]);
});
