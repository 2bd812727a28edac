import { parentPort } from "node:worker_threads";
import { DEFAULTS, simulate } from "./simulation.ts";
import type { Tale, Told } from "./team.ts";

// A thread of `npm run sim`: it tells the story that it is given, says how that went, and gets the next one.

parentPort?.on("message", async ({ seed, steps: wanted, runs, withinMs, looksAtAll }: Tale) => {
  const before = process.threadCpuUsage();
  const options = { ...DEFAULTS, seed, steps: wanted, runs, withinMs, looksAtAll };
  const { violation, steps, ends } = await simulate(options);
  const { user, system } = process.threadCpuUsage(before);
  const told: Told = { seed, steps, ends, violation: violation?.message, cpuMs: (user + system) / 1_000 };
  parentPort?.postMessage(told);
});
