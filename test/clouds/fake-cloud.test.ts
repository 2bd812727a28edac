import { spawn } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeHome, startDrover } from "../edge/support/drover.ts";
import { until } from "../local/support/scratch.ts";

// What `npm run fake-cloud` starts, for people who try a cloud without an account (clouds.md#fakes).

test("a pool on the fake of a cloud runs a command, and nothing is left", async () => {
  const home = makeHome("fake-cloud");
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const main = join(import.meta.dirname, "main.ts");
  const child = spawn(process.execPath, [main, "fly"], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    said += text;
  });
  const up = await startDrover(home);
  onTestFinished(async () => void (await up.stop()));
  await until("the fake is up", () => said.includes("Ctrl-C ends it.") || undefined);
  const file = (pattern: RegExp) => readFileSync(pattern.exec(said)?.[1] ?? "", "utf8");
  const credentials = file(/--use provider < (\S+)/);
  const { name, ...config } = JSON.parse(file(/apply -f (\S+)/));
  await up.json(200, "PUT", "/v1/secrets/fly", { value: credentials, use: "provider" });
  await up.json(201, "PUT", `/v1/pools/${name}`, { ...config, timeouts: { idle: "1s" } });
  await up.json(201, "POST", "/v1/runs", { id: "hello", pool: name, argv: ["sh", "-c", "exit 7"] });
  const run = await until("the run has ended", async () => {
    const status = await up.json(200, "GET", "/v1/runs/hello?wait=10s&state=done");
    return status.finishedAt === null ? undefined : status;
  });
  expect(run.exitCode).toBe(7);
  await until("its machine is destroyed", async () => {
    const { workers } = await up.json(200, "GET", `/v1/pools/${name}`);
    return Object.keys(workers).length === 0 || undefined;
  });
  child.kill("SIGINT");
  expect(await ended).toBe(0);
  expect(said).toMatch(/No machine was left\.\nThey have cost 0\.00\d\d in all\./);
});
