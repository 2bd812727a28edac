// What does a command in a container take over from this process?
import type { RunSpec } from "../../../client/types.ts";
import { containerOf } from "../../../src/shared/containers/container-of.ts";
import type { Here } from "../here.ts";

/**
 * A container has the search path of its image and a umask of its own. Where only some tasks have one, the
 * others get the umask of this process, and not its search path, which all tasks would have. `spec`: as in a
 * file, so its fields may be anything.
 */
export function hereBeside({ container, tasks }: Partial<RunSpec>, here: Here | undefined): Here | undefined {
  const uses = Array.isArray(tasks)
    ? tasks.map((task) => containerOf({ container }, task ?? {}) !== undefined)
    : [container !== undefined];
  if (here === undefined || !uses.includes(true)) return here;
  return { cwd: here.cwd, umask: uses.includes(false) ? here.umask : undefined, path: undefined };
}
