// How are the instances of the loopback cloud recorded on disk?
import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { z } from "zod";
import { writeAtomically } from "../../disk/atomic.ts";
import { tryReadJson } from "../../posix/files.ts";
import { Instance } from "../../src/schema/provider.ts";

/**
 * An instance as it is stored: the fields of the provider contract, and how its processes are found.
 * Directories and cgroups with these names are removed later, so only names that Drover gives are accepted.
 */
export const Entry = Instance.extend({
  id: z.string().regex(/^lo-[0-9a-f]{16}$/),
  token: z.string(),
  /** The first process. Absent until it is started: processes are then found by their mark alone. */
  root: z.object({ pid: z.int(), startTime: z.number() }).optional(),
  cgroup: z.string().optional(),
  endedAtMs: z.number().optional(),
}).refine(({ id, cgroup }) => cgroup === undefined || basename(cgroup) === cgroupName(id));
export type Entry = z.infer<typeof Entry>;

/** The name of an instance's cgroup. */
export function cgroupName(id: string): string {
  return `drover-${id}`;
}

const Ledger = z.object({ version: z.literal(1), instances: z.array(Entry) });

/** The copy of an entry in the directory of its instance. */
const COPY = "instance.json";

/** The paths of a cloud's ledger, and of the folder with a directory for each instance. */
export interface Places {
  ledger: string;
  instances: string;
}

/**
 * Reads the ledger of an earlier `drover up`; returns an empty list if there was none. A missing or
 * unreadable ledger is rebuilt from the copies in the directories of the instances, and the problem is
 * reported. A copy may be outdated, but only the processes of an instance decide whether it runs.
 */
export function readLedger(places: Places, onProblem: (text: string) => void): Entry[] {
  const { data } = Ledger.safeParse(tryReadJson(places.ledger));
  if (data !== undefined) return data.instances;
  const copies = readCopies(places.instances);
  if (existsSync(places.ledger) || copies.length > 0) {
    onProblem(
      `The list of machines in ${places.ledger} cannot be read. It has been rebuilt from the directories ` +
        `of the machines (${copies.length} found).`,
    );
  }
  return copies;
}

/** Writes the whole ledger. It is small: an entry for each machine of the last day. */
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
    const { data } = Entry.safeParse(tryReadJson(join(instances, id, COPY)));
    return data?.id === id ? [data] : [];
  });
}
