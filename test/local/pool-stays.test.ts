import { rmSync } from "node:fs";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
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
  expect(up.said()).toContain("The pool `default` has been changed by `drover apply`, and stays as it is");
  await up.json(200, "PUT", "/v1/pools/default", config);
  expect(await up.stop()).toBe(0);
  up = await startDrover(home);
  expect(up.said()).not.toContain("has been changed");
});
