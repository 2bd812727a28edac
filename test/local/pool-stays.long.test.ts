import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  drover,
  endDrover,
  makeHome,
  poolConfigOf,
  type RunningDrover,
  startDrover,
} from "../edge/support/drover.ts";

let home: string;
let up: RunningDrover | undefined;
beforeEach(() => {
  home = makeHome("pool-stays");
});
afterEach(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

test("P10: what was applied to the pool `default` stays over a restart, and that is said", async () => {
  up = await startDrover(home);
  const config = await poolConfigOf(up);
  const changed = { ...config, maxInstances: 1, timeouts: { ...config.timeouts, idle: "7m" } };
  await up.json(200, "PUT", "/v1/pools/default", changed);
  expect(await up.stop()).toBe(0);
  up = await startDrover(home);
  expect(await poolConfigOf(up)).toMatchObject({ maxInstances: 1, timeouts: { idle: "7m" } });
  expect(up.said()).toContain(
    "The pool `default` has been changed with `drover apply`, so the flags for its size are ignored",
  );
  await up.json(200, "PUT", "/v1/pools/default", config);
  expect(await up.stop()).toBe(0);
  up = await startDrover(home);
  expect(up.said()).not.toContain("has been changed");
});

test("P10: what `drover pools` prints of a pool can be applied again, and needs no secret", async () => {
  up = await startDrover(home);
  const { config } = await up.json(200, "GET", "/v1/pools/default");
  const file = join(home, "default.json");
  writeFileSync(file, JSON.stringify({ ...config, maxInstances: 1 }));
  const applied = await drover(home, ["apply", "--name", "default", "-f", file]);
  expect([applied.code, applied.stderr]).toEqual([0, ""]);
  expect((await drover(home, ["run", "--", "echo", "still there"])).stdout.toString()).toBe("still there\n");
  const elsewhere = { ...config, provider: { ...config.provider, url: "http://127.0.0.1:9" } };
  writeFileSync(file, JSON.stringify(elsewhere));
  const refused = await drover(home, ["apply", "--name", "default", "-f", file]);
  expect([refused.code, refused.stderr]).toEqual([
    125,
    expect.stringContaining("the pool's provider has another `url`"),
  ]);
});
