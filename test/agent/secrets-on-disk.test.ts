import { copyFileSync, existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { buildAgentWithoutMemory } from "./support/agent-without-memory.ts";
import { type Bench, openBench, run } from "./support/bench.ts";

const ID = "build-17/main/1.1";
const OTHER = "build-18/main/1.1";

let agent: string;
let bench: Bench;
beforeAll(async () => {
  agent = await buildAgentWithoutMemory();
});
afterAll(() => rmSync(dirname(agent), { recursive: true }));
beforeEach(async () => {
  bench = await openBench();
  copyFileSync(agent, join(bench.dir, "drover-agent.mjs"));
  for (const id of [ID, OTHER]) bench.plane.secrets[id] = { KEY: Buffer.from("correct-horse-battery") };
});
afterEach(async () => {
  const { faults } = bench.plane;
  await bench.close();
  expect(faults).toEqual([]);
});

const filesDir = () => join(bench.stateDir, "secrets");
const waiting = (id: string, as: "file" | "env") =>
  run(id, ["sh", "-c", `while ! [ -e ${join(bench.dir, "go")} ]; do sleep 0.02; done`], {
    secrets: { KEY: { secret: "deploy", as } },
  });

test("files of secrets on a disk are reported, and removed at the end (secrets.md#files)", async () => {
  const first = bench.start();
  bench.plane.order([waiting(ID, "file"), waiting(OTHER, "env")]);
  const { secretsOnDisk } = await bench.plane.untilState(ID, "running");
  expect(secretsOnDisk).toBe(true);
  // A variable needs no file.
  expect((await bench.plane.untilState(OTHER, "running")).secretsOnDisk).toBeUndefined();
  expect(readdirSync(filesDir())).toHaveLength(1);
  first.child.kill("SIGKILL");
  await first.ended;
  const before = bench.plane.incarnation;
  bench.start();
  await bench.plane.until(
    "the next start reports",
    () => bench.plane.reports.at(-1)?.incarnation === before + 1,
  );
  expect(bench.plane.attempt(ID)).toMatchObject({ state: "running", secretsOnDisk: true });
  writeFileSync(join(bench.dir, "go"), "");
  expect(await bench.plane.untilState(ID, "exited")).toMatchObject({ secretsOnDisk: true });
  expect(existsSync(filesDir())).toBe(false);
});
