// What must a process get to run beside the main process of an attempt (tunnels.md#inside)?
import { readlinkSync } from "node:fs";
import { readUnlessGone } from "../../../posix/files.ts";
import { environmentOf, lives, type ProcId } from "../../../posix/proc.ts";
import { asMember } from "../account.ts";
import { baseEnvironment } from "../environment.ts";

/** A place beside the main process of an attempt. */
export interface Inside {
  /** The words before a command that make it run as the user of the main process. */
  before: string[];
  /** The `cgroup.procs` files of the attempt's cgroups. */
  entrances: string[];
  dir: string;
  /** The mask of modes of the main process, as octal digits. Undefined: the default of tasks. */
  umask: string | undefined;
  /** The environment of the main process, which the run can change: nothing but the run may depend on it. */
  env: Record<string, string>;
  /** The environment until the user of the run has been taken on, with the marks of the attempt. */
  base: Record<string, string>;
  /** Where the ports of the attempt are; null: nowhere. Absent: on this machine. */
  address?: string | null;
  /**
   * The words that run a command in the container of the attempt, with its user, directory and environment,
   * and with `marks` in that environment. Absent: there is no container, and the fields above say all.
   */
  contained?: (argv: string[], marks: string[], terminal: boolean) => string[];
}

/**
 * The user, the groups, the directory and the environment of a process as the kernel has them, so that they
 * hold after a restart of the agent, too. `marks`: the entries that identify the attempt. Undefined: the
 * process has ended.
 */
export function insideOf(main: ProcId, entrances: string[], marks: string[]): Inside | undefined {
  try {
    const env = entriesOf(environmentOf(main.pid));
    const status = readUnlessGone(`/proc/${main.pid}/status`);
    const before = userOf(status);
    const umask = /^Umask:\s+(\d+)$/m.exec(status)?.[1];
    const dir = readlinkSync(`/proc/${main.pid}/cwd`);
    // Read in between, a process that has ended could have been replaced by another one.
    return lives(main) ? insideAs({ before, entrances, dir, umask }, env, marks) : undefined;
  } catch (error) {
    if (!lives(main)) return undefined;
    throw error;
  }
}

/** A place with this environment. `marks`: the entries that identify the attempt. */
export function insideAs(
  place: Pick<Inside, "before" | "entrances" | "dir" | "umask">,
  environment: Record<string, string>,
  marks: string[],
): Inside {
  const own = entriesOf(marks);
  const env = Object.fromEntries(Object.entries(environment).filter(([name]) => !(name in own)));
  return { ...place, env, base: { ...baseEnvironment(), ...own } };
}

/** A place in a container, whose engine knows all the rest. */
export function insideContainer(
  contained: NonNullable<Inside["contained"]>,
  address: string | null,
  marks: string[],
): Inside {
  const place = { before: [], entrances: [], dir: "/", umask: undefined };
  return { ...insideAs(place, {}, marks), contained, address };
}

function entriesOf(lines: string[]): Record<string, string> {
  return Object.fromEntries(
    lines.flatMap((line) => {
      const at = line.indexOf("=");
      return at > 0 ? [[line.slice(0, at), line.slice(at + 1)]] : [];
    }),
  );
}

function userOf(status: string): string[] {
  const ids = (name: string) =>
    (new RegExp(`^${name}:\\s*(.*)$`, "m").exec(status)?.[1] ?? "").split(/\s+/).filter(Boolean).map(Number);
  const [uid = 0] = ids("Uid");
  const [gid = 0] = ids("Gid");
  if (uid === process.geteuid?.()) return [];
  return asMember({ name: String(uid), home: "/", uid, gid, groups: ids("Groups") });
}
