// What can a host do: kills, limits, containers (host-protocol.md#report)?
import { z } from "zod";
import { MAX_TEXT_CHARS } from "../../shared/limits.ts";

/** The highest revision, report number or protocol that a host may send. Numbers up to 2 ** 53 stay exact. */
export const MAX_HOST_NUMBER = 2 ** 48;

/**
 * The container engine of a host (containers.md#engines). `usable`: it takes containers. `down`: it does not
 * answer now. `refused`: it is of a kind that Drover does not use. `logs`: whether output comes as the
 * command wrote it, or only as text.
 */
export const HostEngine = z
  .object({
    name: z.string().max(64),
    version: z.string().max(64),
    api: z.string().max(16),
    logs: z.enum(["exact", "text"]),
    state: z.enum(["usable", "down", "refused"]),
    fault: z.string().max(MAX_TEXT_CHARS).nullable().describe("why it is not usable, and what to do"),
  })
  .meta({ id: "HostEngine" });
export type HostEngine = z.infer<typeof HostEngine>;

/**
 * What the host guarantees for kills and limits. With `cgroup` nothing escapes a kill. With `processes` the
 * kill is best effort: it ends the processes that the host finds by descent, session and environment.
 * `limits`: the limits that the host can enforce.
 */
export const Means = z.object({
  kill: z.enum(["cgroup", "processes"]),
  limits: z.array(z.enum(["memory", "pids", "cpu"])),
  protocol: z
    .int()
    .min(0)
    .max(MAX_HOST_NUMBER)
    .describe(
      "the protocol that the host speaks: 0 takes commands only, 1 is the agent of 0.1.0, 2 also runs " +
        "checks and containers",
    ),
  engine: HostEngine.optional().describe("its container engine; absent: it takes no containers"),
});
export type Means = z.infer<typeof Means>;
