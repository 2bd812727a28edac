// How did a boot probe end, and which outcomes are possible for a boot (workers.md#boot-outcomes)?
import type { Report } from "../schema/host.ts";

/** The result of the host's boot probe. `exitCode`: null if a signal ended the probe. */
export interface BootProbe {
  ok: boolean;
  output: string;
  exitCode?: number | null | undefined;
}

/**
 * The boot probe in a report, if it is news (workers.md#t1). `known`: the earlier result. `command`: the
 * probe's command.
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

/** A failed boot probe in words: command, exit code and output. */
export function bootFailure({ exitCode, output }: BootProbe, command: string): string {
  const code =
    exitCode === undefined ? "" : exitCode === null ? " (it was killed)" : ` with exit code ${exitCode}`;
  const wrote = output.trim() === "" ? ", and wrote nothing" : `: ${output.trim()}`;
  return `its boot probe \`${command}\` failed${code}${wrote}`;
}

/**
 * The possible outcomes of a machine's boot. The first outcome is final (workers.md#boot-outcomes).
 * `success`: the machine became ready. `failure`: it was late, or reported that it is broken. `aborted`: it
 * was no longer wanted. `disappeared`: it ended, and nobody had asked for that. `withdrawn`: the provider
 * could not or would not run it, although it had made it.
 */
export const BOOT_OUTCOMES = ["success", "failure", "aborted", "disappeared", "withdrawn"] as const;
export type BootOutcome = (typeof BOOT_OUTCOMES)[number];
