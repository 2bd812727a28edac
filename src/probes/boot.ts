// What a boot probe came to, and what came of a machine's boot (workers.md#boot-outcomes).
import type { Report } from "../schema/host.ts";
import type { Instant } from "../shared/machine.ts";

/** What the host's boot probe came to. `exitCode`: null, if a signal ended it; absent: of an older agent. */
export interface BootProbe {
  ok: boolean;
  output: string;
  exitCode?: number | null | undefined;
}

/**
 * What a report says of the boot probe, if that is news (workers.md#t1). `known`: what it said before;
 * `command`: the probe.
 */
export function readBoot(
  known: BootProbe | null,
  { boot }: Report,
  command: string,
): { probe: BootProbe; text: string } | undefined {
  if (boot === undefined || boot === null) return undefined;
  if (boot.ok) return { probe: boot, text: "the boot probe succeeded" };
  const text = bootFailure(boot, command);
  return known !== null && bootFailure(known, command) === text ? undefined : { probe: boot, text };
}

/** How a boot probe failed: which command, with which exit code, and what it wrote. */
export function bootFailure({ exitCode, output }: BootProbe, command: string): string {
  const code =
    exitCode === undefined ? "" : exitCode === null ? " (it was killed)" : ` with exit code ${exitCode}`;
  const wrote = output.trim() === "" ? ", and wrote nothing" : `: ${output.trim()}`;
  return `its boot probe \`${command}\` failed${code}${wrote}`;
}

/** What can come of a machine's boot: one of these, once, and the first stays (workers.md#boot-outcomes). */
export const BOOT_OUTCOMES = ["success", "failure", "aborted", "disappeared"] as const;
export type BootOutcome = (typeof BOOT_OUTCOMES)[number];

/**
 * What came of a machine's boot: `success`, it was ready once; `failure`, it was not in time, or said that it
 * is broken; `aborted`, it was not wanted any more; `disappeared`, it ended by itself. Undefined: nothing
 * yet.
 */
export function bootOutcomeOf(worker: {
  bootOutcome?: BootOutcome;
  readyAt: Instant | null;
}): BootOutcome | undefined {
  // An earlier version stored no outcome, but when it was ready.
  return worker.bootOutcome ?? (worker.readyAt === null ? undefined : "success");
}
