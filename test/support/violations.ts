import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** This much of a log shows which invariant was broken first. */
const FIRST_CHARS = 500;

/**
 * Throws if a step of an object or of a host agent has broken an invariant of its machine, as the logs of a
 * `drover up` and of its machines say.
 */
export function noViolations(stateDir: string): void {
  const machines = join(stateDir, "instances");
  const consoles = existsSync(machines)
    ? readdirSync(machines).map((id) => join(machines, id, "console.log"))
    : [];
  for (const path of [join(stateDir, "worker.log"), ...consoles]) {
    const text = existsSync(path) ? readFileSync(path, "utf8") : "";
    const at = text.indexOf("invariant_violated");
    if (at >= 0) throw new Error(`an invariant was broken: ${text.slice(at, at + FIRST_CHARS)}`);
  }
}
