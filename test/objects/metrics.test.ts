import { evictDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import rules from "../../docs/monitoring/alerts.yml?raw";
import board from "../../docs/monitoring/board.json?raw";
import { openEdge } from "./support/edge.ts";
import { bindings, bootMachine, eventually, freshWorld, makePool, objects, submit } from "./support/world.ts";

const world = freshWorld();
const HOUR_MS = 3_600_000;
const EXITED = {
  state: "exited" as const,
  startedAgoMs: 5,
  endedAgoMs: 1,
  exit: { code: 1, signal: null, oomKilled: false, message: "" },
};

test("rules and board name what is told, and an eviction takes no count (pool.md#histograms)", async () => {
  const { admin } = openEdge();
  await admin.json(201, "POST", "/v1/webhooks", { name: "hook", url: "https://receiver.test/hook" });
  await makePool({ maxInstances: 1, instanceTypes: { small: { vcpus: 4, memory: "8GiB", price: 1 } } });
  await submit("first");
  const { host } = await bootMachine(world.cloud);
  host.attempts = [{ id: "first/main/1.1", ...EXITED }];
  await eventually(async () => {
    await host.report({ date: Date.now() + HOUR_MS });
    const { items } = await objects.pool("default").list({ states: ["complete"], labels: {} }, { limit: 10 });
    return items.length > 0 || undefined;
  });
  for (const id of ["takes-all", "waits"]) await submit(id, { resources: { vcpus: 4 } });
  const read = async () => (await admin.send("GET", "/metrics")).text();
  // The worker's news reaches its pool by a message.
  const text = await eventually(async () => {
    const told = await read();
    return /clock_skew_seconds\{pool="default"\} 3\d{3}/.test(told) ? told : undefined;
  });
  const names = new Set([...text.matchAll(/^(drover_\w+)\{/gm)].map(([, name]) => name));
  const named = new Set([...`${rules}${board}`.matchAll(/drover_\w+/g)].map(([name]) => name));
  expect([...named].filter((name) => !names.has(name))).toEqual([]);

  const histograms = (all: string) => all.split("\n").filter((line) => /_(?:bucket|sum|count)\{/.test(line));
  expect(text).toContain('drover_task_failures_total{pool="default",hook="main"} 1');
  for (const counted of [
    "run_start_seconds",
    "run_duration_seconds",
    "report_age_seconds",
    "instance_ready_seconds",
  ])
    expect(text).toContain(`drover_${counted}_bucket{pool="default",le="+Inf"} 1\n`);
  expect(text).toContain(
    'drover_cloud_call_seconds_count{pool="default",call="create",outcome="success"} 1\n',
  );
  await evictDurableObject(bindings.POOL.getByName("default"));
  const isListing = (line: string) => line.includes('call="list"');
  const counts = (all: string) => histograms(all).filter((line) => !isListing(line));
  expect(counts(await read())).toEqual(counts(text));
});
