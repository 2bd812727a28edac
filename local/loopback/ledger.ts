import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { z } from "zod";
import { errorCode } from "../../posix/errors.ts";
import { writeAtomically } from "../../posix/files.ts";
import { Instance } from "../../src/schema/provider.ts";

/**
 * An instance as it is kept: what the contract shows, and how it is found again. Directories and cgroups of
 * these names are removed, so a ledger that somebody else has written must name no others.
 */
export const Entry = Instance.extend({
  id: z.string().regex(/^lo-[0-9a-f]{16}$/),
  token: z.string(),
  /**
   * The first process. Absent until it is started: then only the mark in the environment finds what there is.
   */
  root: z.object({ pid: z.int(), startTime: z.number() }).optional(),
  cgroup: z.string().optional(),
  endedAtMs: z.number().optional(),
}).refine(({ id, cgroup }) => cgroup === undefined || basename(cgroup) === cgroupName(id));
export type Entry = z.infer<typeof Entry>;

/** What the cgroup of an instance is called. */
export function cgroupName(id: string): string {
  return `drover-${id}`;
}

const Ledger = z.object({ version: z.literal(1), instances: z.array(Entry) });

/** The copy of its entry that an instance has in its own directory. */
const COPY = "instance.json";

/** Where a cloud keeps its ledger, and the directories of its instances. */
export interface Places {
  ledger: string;
  instances: string;
}

/**
 * Reads what a former `drover up` has written down; nothing if there was none. A ledger that is lost or
 * cannot be read is made again from the copies that the instances have, and that is reported. A copy may be
 * old, but whether an instance still runs is seen by its processes and never taken from here.
 */
export function readLedger(places: Places, onProblem: (text: string) => void): Entry[] {
  try {
    return Ledger.parse(JSON.parse(readFileSync(places.ledger, "utf8"))).instances;
  } catch (error) {
    const copies = readCopies(places.instances);
    if (errorCode(error) !== "ENOENT" || copies.length > 0) {
      onProblem(
        `The list of machines in ${places.ledger} cannot be read; it is made again from what the ` +
          `directories of the machines say (${copies.length} found).`,
      );
    }
    return copies;
  }
}

/** Writes the whole ledger. It is small: one entry for each machine of the last day. */
export function writeLedger({ ledger }: Places, instances: Iterable<Entry>): void {
  writeAtomically(ledger, JSON.stringify({ version: 1, instances: [...instances] }));
}

/** Writes the copy of an entry, if the instance has a directory. */
export function writeCopy({ instances }: Places, entry: Entry): void {
  const dir = join(instances, entry.id);
  if (existsSync(dir)) writeAtomically(join(dir, COPY), JSON.stringify(entry));
}

function readCopies(instances: string): Entry[] {
  return readdirSync(instances).flatMap((id) => {
    const entry = readCopy(join(instances, id, COPY));
    return entry?.id === id ? [entry] : [];
  });
}

function readCopy(path: string): Entry | undefined {
  try {
    return Entry.safeParse(JSON.parse(readFileSync(path, "utf8"))).data;
  } catch {
    return undefined;
  }
}
