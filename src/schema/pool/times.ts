// The times in a pool's configuration: of its machines' lives, of probes, and of what is kept.
import { z } from "zod";
import { durationMs, formatDuration } from "../../shared/duration.ts";
import { MAX_KILL_MS, STALE_RUN_MS, UNLISTED_MS } from "../../shared/limits.ts";
import { Duration, Interval, PositiveDuration } from "../common.ts";

/** How long each part of the life of a machine may take. */
export const Timeouts = z
  .strictObject({
    boot: Interval.default("10m"),
    probe: Interval.default("10m"),
    idle: Duration.default("1m").describe("0s: a machine without runs is destroyed at once"),
    shutdown: Interval.default("10s"),
    staleRun: Interval.default(formatDuration(STALE_RUN_MS)).describe(
      "how long an ended run may leave something behind before its machine counts as broken",
    ),
    unlisted: Interval.default(formatDuration(UNLISTED_MS)).describe(
      "how long a new machine may be missing from listings",
    ),
    maxKill: PositiveDuration.default(formatDuration(MAX_KILL_MS)).describe(
      "the longest `killTimeout` of a run; a longer one is cut to this",
    ),
    lease: PositiveDuration.refine((text) => durationMs(text) >= 120_000, "must be at least 2m").default(
      "30m",
    ),
  })
  .meta({ id: "PoolTimeouts" });

export const PoolProbe = z
  .strictObject({
    interval: Interval.default("10s"),
    boot: z
      .string()
      .min(1)
      .max(4_096)
      .optional()
      .describe("if absent, `systemctl is-system-running`, and `true` on clouds that Drover knows"),
  })
  .meta({ id: "PoolProbe" });

/** How long ended runs and logs are kept. The pool checks once a minute. */
export const PoolRetention = z
  .strictObject({
    runs: PositiveDuration.default("7d").describe("how long ended runs are kept"),
    logs: PositiveDuration.optional().describe("how long their logs are kept; as long as the runs if absent"),
  })
  .refine(({ runs, logs }) => logs === undefined || durationMs(logs) <= durationMs(runs), {
    error: "must not be longer than `runs`, since logs are deleted with their run",
    path: ["logs"],
  })
  .meta({ id: "PoolRetention" });
