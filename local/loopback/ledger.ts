import { readFileSync } from "node:fs";
import { z } from "zod";
import { Instance } from "../../src/schema/provider.ts";
import { errnoOf, writeWhole } from "../files.ts";

/** An instance as it is kept: what the contract shows, and how it is found again. */
export const Entry = Instance.extend({
  token: z.string(),
  /**
   * The first process. Absent until it is started: then only the mark in the environment finds what there is.
   */
  root: z.object({ pid: z.int(), startTicks: z.number() }).optional(),
  cgroup: z.string().optional(),
  endedAtMs: z.number().optional(),
});
export type Entry = z.infer<typeof Entry>;

const Ledger = z.object({ version: z.literal(1), instances: z.array(Entry) });

/**
 * Reads what a former `drover up` has written down; nothing if there was none. A ledger that cannot be read
 * is reported and begun anew: machines carry the mark of the directory in their environment, so they are
 * found all the same.
 */
export function readLedger(path: string, onProblem: (text: string) => void): Entry[] {
  try {
    return Ledger.parse(JSON.parse(readFileSync(path, "utf8"))).instances;
  } catch (error) {
    if (errnoOf(error) !== "ENOENT")
      onProblem(`The list of machines in ${path} cannot be read; it begins anew.`);
    return [];
  }
}

/** Writes the whole ledger. It is small: one entry for each machine of the last day. */
export function writeLedger(path: string, instances: Iterable<Entry>): void {
  writeWhole(path, JSON.stringify({ version: 1, instances: [...instances] }));
}
