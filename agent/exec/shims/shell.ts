// What can the shell of this machine do as a shim?
import { rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Millis } from "../../../src/shared/machine.ts";
import { ServingShim, textOf } from "./serving-shim.ts";
import { readShimFile, type ShimCommand, type Started, startAlone } from "./shim.ts";

export interface Shell {
  /** It prints the signal that has ended a child, as dash does and bash as `sh` does not (`readShimEnd`). */
  reportsSignals: boolean;
  /** It can be the shim of many commands: none gets anything that a shim of its own would not give it. */
  canServe: boolean;
}

/** Commands that show what they get, and what their shim says of their end. */
const LISTS_DESCRIPTORS = "for file in /proc/self/fd/*; do echo $file; done";
const DIES = "kill -9 $$";
/** How long one of them may take. */
const TRY_MS: Millis = 30_000;

/**
 * Tries both kinds of shims with two commands. A shell does not serve if it hands on descriptors of its own,
 * as busybox does, or if it tells of signals only where it reads a script, as bash does. `scratch`: the file
 * for what is written.
 */
export async function probeShell(scratch: string): Promise<Shell> {
  const shim = new ServingShim({});
  const serve = (command: ShimCommand) => shim.start(textOf(command) ?? "", command);
  try {
    const [listed, died] = [await outputOf(LISTS_DESCRIPTORS, scratch), await outputOf(DIES, scratch)];
    const isSame =
      (await outputOf(LISTS_DESCRIPTORS, scratch, serve)) === listed &&
      (await outputOf(DIES, scratch, serve)) === died;
    // On a full disk nothing is known.
    return { reportsSignals: died !== "", canServe: isSame && listed !== "" };
  } finally {
    shim.end();
  }
}

/** What a command and its shim write, without the status. Undefined: it did not begin, or not end. */
async function outputOf(
  script: string,
  scratch: string,
  start: (command: ShimCommand) => Promise<Started | undefined> = startAlone,
): Promise<string | undefined> {
  rmSync(scratch, { force: true });
  const files = { stdout: scratch, stderr: scratch, exit: scratch };
  const started = await start({
    argv: ["/bin/sh", "-c", script],
    entrances: [],
    dir: "/",
    env: {},
    files,
  });
  if (started === undefined) return undefined;
  const isOver = await Promise.race([started.ended.then(() => true), sleep(TRY_MS, false, { ref: false })]);
  return isOver ? readShimFile(files).output : undefined;
}
