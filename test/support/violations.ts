import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** This much of the log shows which invariant was broken first. */
const FIRST_CHARS = 500;

/** Throws if a step of an object has broken an invariant of its machine, as the log of a `drover up` says. */
export function noViolations(stateDir: string): void {
  const path = join(stateDir, "worker.log");
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  const at = text.indexOf("invariant_violated");
  if (at >= 0) throw new Error(`an invariant was broken: ${text.slice(at, at + FIRST_CHARS)}`);
}
