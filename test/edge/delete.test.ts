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
});
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

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
});

test("only a run that has ended is deleted, and then its id answers 410 (api.md#delete)", async () => {
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
});

test("N1: a run that has not ended is deleted by force, and so is its poststop task", async () => {
  const stubborn = ["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"];
  const tasks = [
    { name: "main", argv: stubborn },
    { name: "post", argv: stubborn, lifecycle: { hook: "poststop", sidecar: false } },
  ];
  await up.json(201, "POST", "/v1/runs", { id: "stuck", tasks });
  await up.json(200, "GET", "/v1/runs/stuck?wait=30s&state=running");
  const removed = await drover(home, ["rm", "--force", "stuck"]);
  expect([removed.code, removed.stdout.toString()]).toEqual([0, "stuck is deleted\n"]);
  expect(await up.json(410, "GET", "/v1/runs/stuck")).toMatchObject({ code: "expired_run" });
});

test("N1: `drover abort --force` ends a run whose stop waits for its poststop task", async () => {
  const tasks = [
    { name: "main", argv: ["sleep", "600"] },
    { name: "post", argv: ["sleep", "600"], lifecycle: { hook: "poststop", sidecar: false } },
  ];
  await up.json(201, "POST", "/v1/runs", { id: "hung", tasks });
  await up.json(200, "GET", "/v1/runs/hung?wait=30s&state=running");
  await up.json(200, "POST", "/v1/runs/hung/abort", {});
  const forced = await drover(home, ["abort", "--force", "hung"]);
  expect([forced.code, forced.stdout.toString()]).toEqual([0, "hung ended: aborted\n"]);
});

test("P9: a pool with an address that has no name can be corrected, and deleted", async () => {
  const config = await poolConfigOf(up);
  const wrong = { ...config, provider: { ...config.provider, url: "http://no-such-host.invalid" } };
  await up.json(201, "PUT", "/v1/pools/typo", wrong);
  await up.json(201, "POST", "/v1/runs", { id: "first", pool: "typo", argv: ["true"] });
  await until("the name cannot be resolved", async () => {
    const why = await (await up.call("GET", "/v1/runs/first/why")).text();
    return why.includes("its name no-such-host.invalid cannot be resolved") ? true : undefined;
  });
  await up.json(200, "PUT", "/v1/pools/typo", config);
  expect(await up.json(200, "GET", "/v1/runs/first?wait=30s&state=done")).toMatchObject({
    state: "complete",
  });
  await up.json(201, "PUT", "/v1/pools/lost", wrong);
  await up.json(201, "POST", "/v1/runs", { id: "second", pool: "lost", argv: ["true"] });
  await until("it was asked for", async () => {
    const { items } = (await (await up.call("GET", "/v1/workers?pool=lost")).json()) as { items: unknown[] };
    return items.length > 0 ? true : undefined;
  });
  const deleted = await drover(home, ["pools", "delete", "--force", "lost"]);
  expect([deleted.code, deleted.stdout.toString()]).toEqual([0, expect.stringMatching(/^lost /)]);
  await until("the pool is gone", async () => {
    return (await up.call("GET", "/v1/pools/lost")).status === 404 ? true : undefined;
  });
  expect(await up.json(200, "GET", "/v1/runs/second")).toMatchObject({ state: "aborted" });
});
