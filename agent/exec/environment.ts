import { userInfo } from "node:os";
import type { TaskSpec } from "../../src/schema/run.ts";
import type { AttemptDirs } from "./dirs.ts";

const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * What every process that the agent starts has, and nothing of the agent's own environment
 * (`decisions.md`).
 */
export function baseEnvironment(): Record<string, string> {
  const { username, homedir } = whoAmI();
  return { PATH: DEFAULT_PATH, HOME: homedir, USER: username, LANG: "C.UTF-8" };
}

function whoAmI(): { username: string; homedir: string } {
  try {
    return userInfo();
  } catch {
    // A user without an entry in the system's list, as in many containers.
    return { username: String(process.getuid?.() ?? ""), homedir: "/" };
  }
}

/**
 * The environment of a task. By precedence as in `nomad.md` §4.10: the base, what Drover tells, `meta`, the
 * task's own `env`. The last few stand above that, because the agent finds the processes of an attempt by
 * them.
 */
export function taskEnvironment(
  id: string,
  task: TaskSpec,
  dirs: AttemptDirs,
  instance: string | undefined,
): Record<string, string> {
  return {
    ...baseEnvironment(),
    TMPDIR: dirs.tmp,
    DROVER_TASK_NAME: task.name,
    DROVER_VCPUS: String(task.resources.vcpus),
    DROVER_MEMORY_BYTES: String(task.resources.memoryBytes),
    ...metaEnvironment(task.meta),
    ...task.env,
    DROVER_RUN_ID: id.slice(0, id.indexOf("/")),
    DROVER_ATTEMPT_ID: id,
    DROVER_TASK_DIR: dirs.work,
    ...(instance === undefined ? {} : { DROVER_INSTANCE: instance }),
  };
}

/** Each key as written and upper-cased; what cannot stand in a name becomes `_` (`nomad.md` §4.10). */
function metaEnvironment(meta: Record<string, string>): Record<string, string> {
  const names: Record<string, string> = {};
  for (const [key, value] of Object.entries(meta)) {
    const name = key.replace(/[^A-Za-z0-9_]/g, "_");
    names[`DROVER_META_${name.toUpperCase()}`] = value;
    names[`DROVER_META_${name}`] = value;
  }
  return names;
}

/** The entries by which the processes of one attempt are found, wherever they have gone. */
export function markersOf(id: string, dirs: AttemptDirs): string[] {
  return [`DROVER_ATTEMPT_ID=${id}`, `DROVER_TASK_DIR=${dirs.work}`];
}
