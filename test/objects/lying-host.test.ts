import { beforeEach, describe, expect, test } from "vitest";
import { MAX_KEPT_ASKED } from "../../src/core/worker/host/retained-data.ts";
import { meter } from "../../src/objects/meter.ts";
import { MAX_STRANGERS_ASKED } from "../../src/probes/believed.ts";
import type { AttemptReport, Report } from "../../src/schema/host.ts";
import { MAX_TEXT_CHARS } from "../../src/shared/limits.ts";
import type { TestHost } from "./support/host.ts";
import { openSocket } from "./support/socket-host.ts";
import { bootMachine, eventually, freshWorld, makePool, objects, submit } from "./support/world.ts";

// What one report costs, whatever it says, counted in the runtime: docs/design/reports.md has the numbers.

const world = freshWorld();
const MANY = 1_000;
const names = (count: number) => Array.from({ length: count }, (_, n) => `nobody-${n}`);
const claims = (runs: string[]): AttemptReport[] =>
  runs.map((run) => ({ id: `${run}/main/1.1`, state: "running", startedAgoMs: 5 }));

let host: TestHost;
beforeEach(async () => {
  await makePool();
  await submit("mine", { resources: { vcpus: 1 } });
  ({ host } = await bootMachine(world.cloud));
  host.attempts = claims(["mine"]);
  await eventually(async () => {
    await host.report();
    const { state } = await objects.allocation("mine").read();
    return state === "running" ? true : undefined;
  });
});

/** What it costs to say this, until all of that is done. */
async function costOf(say: () => Promise<unknown>): Promise<Pick<typeof meter, "rowsWritten" | "requests">> {
  const before = { ...meter };
  await say();
  return { rowsWritten: meter.rowsWritten - before.rowsWritten, requests: meter.requests - before.requests };
}

describe("X5: a report that names many runs of nobody", () => {
  const attempts = claims(["mine", ...names(MANY)]);
  const lie: Partial<Report> = { attempts, kept: names(MANY).map((run) => `${run}/1`) };
  /** The call itself, and an alarm that fires meanwhile; a renewed lease, and an alarm that is armed. */
  const OWN = { requests: 2, rows: 2 };

  test("by webhook", async () => {
    const { rowsWritten, requests } = await costOf(() => host.report(lie));
    expect(requests).toBeLessThanOrEqual(OWN.requests + MAX_STRANGERS_ASKED + MAX_KEPT_ASKED);
    expect(rowsWritten).toBeLessThanOrEqual(OWN.rows);
    // It has to wait until it is heard again.
    const again = await eventually(() => host.report({ attempts }).catch(() => undefined));
    expect(again.attempts.map(({ id }) => id)).toEqual(["mine/main/1.1"]);
  });

  test("by socket", async () => {
    const socket = await openSocket(host);
    const { rowsWritten, requests } = await costOf(() => socket.report(host, lie));
    expect(requests).toBeLessThanOrEqual(2 + OWN.requests + MAX_STRANGERS_ASKED + MAX_KEPT_ASKED);
    expect(rowsWritten).toBeLessThanOrEqual(OWN.rows);
    await eventually(() => socket.frames.some((frame) => "drop" in frame) || undefined);
  });
});

test("X5: a host that says that it holds a queued run of others gets nothing of it", async () => {
  await makePool({}, "elsewhere");
  await submit("queued", { pool: "elsewhere", env: { KEY: "s3cr3t" } });
  const exit = { code: 0, signal: null, oomKilled: false, message: "" };
  const attempts = [{ id: "queued/main/1.1", state: "exited" as const, exit }];
  const orders = await host.report({ attempts });
  expect(JSON.stringify(orders.attempts)).not.toContain("queued");
  expect(await objects.allocation("queued").read()).toMatchObject({ state: "pending", placements: [] });
});

test("X17: a run whose host says the longest texts for each of many starts is stored, and ends", async () => {
  const wide = "漢".repeat(MAX_TEXT_CHARS);
  const exit = { code: 1, signal: null, oomKilled: false, message: wide };
  const policy = { attempts: 1_000, delay: "0s", interval: "1h" };
  const resources = { vcpus: 0, memory: "64MiB" };
  const tasks = names(4).map((name) => ({ name, argv: ["true"], restart: policy, resources }));
  await submit("talks", { tasks });
  let ordered = await eventually(async () => {
    const orders = await host.report();
    return orders.attempts.some(({ id }) => id.startsWith("talks/")) ? orders : undefined;
  });
  const ofTalks = () => ordered.attempts.filter(({ id, want }) => id.startsWith("talks/") && want === "run");
  for (let round = 0; round < 60 && ofTalks().length > 0; round += 1) {
    const ended = ofTalks().map(({ id }) => ({ id, state: "exited" as const, endedAgoMs: 0, exit }));
    host.attempts = [...claims(["mine"]), ...ended];
    ordered = await host.report();
  }
  const status = await objects.allocation("talks").read();
  expect(status.tasks?.[0]?.restarts).toBeGreaterThan(50);
  await objects.allocation("talks").abort({ reason: "enough", by: "ann", waitMs: 0 });
  host.attempts = claims(["mine"]);
  await eventually(async () => {
    await host.report();
    const { state } = await objects.allocation("talks").read();
    return state === "aborted" ? true : undefined;
  });
});
