import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findHierarchies } from "../../agent/exec/processes/hierarchies.ts";
import { hasPodman, type Podman, startPodman } from "../agent/support/podman.ts";
import { playAll } from "../groups/player.ts";
import { inContainers } from "../groups/scenario.ts";
import { SCENARIOS } from "../groups/scenarios.ts";
import { endDrover, makeHome, type RunningDrover, startDrover } from "./support/drover.ts";

// Groups in containers, on one `drover up` of the built package and a real engine: tasks.md#reactions,
// tasks.md#order-of-the-end, tasks.md#poststop, restart.md#restart-policy, tasks.md#kill.

const can = findHierarchies().some(({ limits }) => limits.includes("memory"));
// The exit of a container outlives its agent (`test/agent/containers/crash.long.test.ts`).
const outlives = SCENARIOS.filter(({ act }) => act?.what !== "agent dies");
const CONTAINED = outlives.filter(({ needs }) => needs !== "memory" || can).map(inContainers);

describe.skipIf(!hasPodman)("groups in containers", () => {
  let podman: Podman;
  let home: string;
  let up: RunningDrover;
  beforeAll(async () => {
    podman = await startPodman();
    home = makeHome("contained");
    up = await startDrover(home, { DROVER_ENGINE: podman.socketPath });
  });
  afterAll(async () => {
    await endDrover(home, up);
    await podman.stop();
    rmSync(home, { recursive: true, force: true });
  });

  playAll(() => up, CONTAINED, "container");

  test("no container is left of them", async () => {
    expect(await podman.engine.listContainers({})).toEqual([]);
  });

  test("what is not tried is said", () => {
    expect(SCENARIOS.length - CONTAINED.length).toBe(can ? 1 : 2);
  });
});
