import type { CheckLevel, CheckResult } from "../../agent/core/checks/results.ts";
import type { RunSpecInput } from "../../src/schema/run/run.ts";
import { Chance } from "./rng.ts";

// Checks of simulated tasks (health.md). Apart from the chance of everything else, which stays the same.

const LEVELS: readonly CheckLevel[] = ["passing", "passing", "passing", "passing", "warning", "critical"];

/** What a try finds at this time. */
export function checkResult(of: string, now: number): CheckResult {
  const seed = [...of].reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) | 0, Math.round(now));
  const level = new Chance(seed).pick(LEVELS) ?? "passing";
  return { level, text: level === "passing" ? "" : "the simulated task is not well", output: "" };
}

/** The run, perhaps with a check of its command or of its main tasks, which may restart them. */
export function withChecks(spec: RunSpecInput, submitAtMs: number): RunSpecInput {
  const chance = new Chance(submitAtMs ^ 0x2f6e2b1);
  if (!chance.chance(0.1)) return spec;
  const check = {
    name: "port",
    tcp: { port: 80 },
    interval: `${chance.between(5, 30)}s`,
    failAfter: chance.between(1, 3),
    startPeriod: `${chance.between(0, 20)}s`,
  };
  const restart = { limit: chance.between(1, 3), grace: "5s", ignoreWarnings: chance.chance(0.5) };
  const checked = { checks: [check], ...(chance.chance(0.5) ? { checkRestart: restart } : {}) };
  if (spec.tasks === undefined) return { ...spec, ...checked };
  const tasks = spec.tasks.map((task) =>
    task.lifecycle?.hook === undefined ? { ...task, ...checked } : task,
  );
  return { ...spec, tasks };
}
