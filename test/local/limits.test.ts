import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { LoopbackCloud } from "../../local/loopback/cloud.ts";
import { noProcesses } from "../support/limits.ts";
import { scratchDir } from "./support/scratch.ts";
import { askForMachine, bootMachine, startUp, whenUp } from "./support/up-process.ts";

test("P4: drover up that can open no file does not take its machines for dead", () => {
  const dir = join(scratchDir(), "state");
  mkdirSync(dir);
  onTestFinished(() => new LoopbackCloud({ dir, onProblem: () => {} }).endAll());
  const script = join(import.meta.dirname, "support/starved-cloud.ts");
  const limited = ["-c", 'ulimit -n 200; exec "$@"', "sh", process.execPath, script, dir];
  const said = JSON.parse(execFileSync("/bin/sh", limited, { encoding: "utf8" }));
  expect(said).toEqual({ refused: expect.stringContaining("EMFILE"), looks: 1, deaths: [], alive: 1 });
});

test("P4: a machine that drover up cannot start is refused for a while", async (context) => {
  const stateDir = join(scratchDir(), "state");
  const running = startUp(stateDir);
  await whenUp(running, stateDir);
  const lift = noProcesses(0)(running.pid);
  if (typeof lift === "string") return context.skip(lift);
  expect(await askForMachine(stateDir, "w1")).toBe(503);
  lift();
  await bootMachine(stateDir, "w2");
  running.interrupt();
  expect(await running.ended).toBe(0);
});
