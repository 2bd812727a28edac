import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../local/support/scratch.ts";
import {
  drover,
  endDrover,
  makeHome,
  poolConfigOf,
  type RunningDrover,
  startDrover,
} from "./support/drover.ts";

let home: string;
let up: RunningDrover;
beforeAll(async () => {
  home = makeHome("delete");
  up = await startDrover(home);
}, 60_000);
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
}, 60_000);

test("logs go before their run: reading them is a 410 that says so, and the run can be read", async () => {
  const config = await poolConfigOf(up);
  const retention = { runs: "1h", logs: "1s" };
  await up.json(201, "PUT", "/v1/pools/brief", { ...config, retention });
  const ran = await drover(home, ["run", "--pool", "brief", "--id", "logged", "--", "echo", "hello"]);
  expect([ran.code, ran.stdout.toString()]).toEqual([0, "hello\n"]);
  const gone = await until("its logs are gone", async () => {
    const answer = await up.call("GET", "/v1/runs/logged/logs/main/stdout");
    return answer.status === 200 ? undefined : { status: answer.status, problem: await answer.json() };
  });
  expect(gone).toMatchObject({ status: 410, problem: { code: "expired_logs", temporary: false } });
  const { stderr, code } = await drover(home, ["logs", "logged"]);
  expect([code, stderr]).toEqual([
    125,
    expect.stringMatching(/logs of run "logged" were deleted at .*retention/),
  ]);
  expect(await up.json(200, "GET", "/v1/runs/logged")).toMatchObject({ state: "complete", exitCode: 0 });
}, 60_000);

test("only a run that has ended is deleted, and then its id answers 410 (api.md, DELETE)", async () => {
  const argv = ["sh", "-c", `while ! [ -e ${join(home, "go")} ]; do sleep 0.05; done; echo done`];
  expect(existsSync(join(home, "go"))).toBe(false);
  await up.json(201, "POST", "/v1/runs", { id: "old", argv });
  expect(await up.json(409, "DELETE", "/v1/runs/old")).toMatchObject({ code: "not_terminal" });
  await up.json(200, "POST", "/v1/runs/old/abort?wait=30s", {});
  await up.json(200, "GET", "/v1/runs/old?wait=30s&state=done");

  const removed = await drover(home, ["rm", "old"]);
  expect([removed.code, removed.stdout.toString()]).toEqual([0, "old is deleted\n"]);
  const { items } = await up.json(200, "GET", "/v1/runs?pool=default");
  expect(items).toEqual([]);
  for (const [method, path, body] of [
    ["GET", "/v1/runs/old"],
    ["DELETE", "/v1/runs/old"],
    ["GET", "/v1/runs/old/events"],
    ["GET", "/v1/runs/old/why"],
    ["GET", "/v1/runs/old/logs/main/stdout"],
    ["POST", "/v1/runs/old/abort", {}],
    ["POST", "/v1/runs/old/restart", {}],
    ["POST", "/v1/runs", { id: "old", argv: ["true"] }],
  ] as const) {
    expect(await up.json(410, method, path, body)).toMatchObject({ code: "expired_run", temporary: false });
  }
  const asked = await up.json(410, "POST", "/v1/runs/query", { runs: ["old"], states: ["all"] });
  expect(asked).toMatchObject({ code: "expired_run", runs: ["old"] });
  const again = await drover(home, ["rm", "old"]);
  expect([again.code, again.stderr]).toEqual([125, expect.stringContaining("has been deleted")]);
}, 120_000);
