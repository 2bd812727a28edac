// Does this machine pass its boot probe?
import { readFileSync, rmSync } from "node:fs";
import { sendSignal } from "../../posix/proc.ts";
import type { Millis } from "../../src/shared/machine.ts";
import { errorText } from "../../src/shared/words.ts";
import { baseEnvironment } from "./environment.ts";
import { spawnScript } from "./shims/spawn.ts";

/** A boot probe that takes longer has failed: the machine may hang. */
const PROBE_TIMEOUT_MS: Millis = 60_000;
/** Only the end of the probe's output is kept, because errors are at the end (host-protocol.md#boot). */
const PROBE_OUTPUT_CHARS = 4_096;

/**
 * Runs a command with `sh -c`, such as the boot probe. The output goes to a file, not a pipe: the command can
 * then end while a service that it has started still writes. Never rejects.
 */
export async function runBootProbe(
  command: string,
  file: string,
  instance: string | undefined,
): Promise<{ ok: boolean; output: string; exitCode: number | null }> {
  try {
    const exitCode = await run(command, file, instance);
    return { ok: exitCode === 0, exitCode, output: readFileSync(file, "utf8").slice(-PROBE_OUTPUT_CHARS) };
  } catch (error) {
    return { ok: false, exitCode: null, output: `The boot probe could not be run: ${errorText(error)}` };
  }
}

function run(command: string, file: string, instance: string | undefined): Promise<number | null> {
  rmSync(file, { force: true });
  const env = { ...baseEnvironment(), DROVER_INSTANCE: instance };
  return new Promise((resolve, reject) => {
    const child = spawnScript(command, [], env, ["/dev/null", file, file]);
    child.once("error", reject);
    const { pid } = child;
    if (pid === undefined) return; // not started: the error event says why
    // The negative pid means the process group: a child that the probe waits for may hang, too.
    const late = setTimeout(() => sendSignal(-pid, "SIGKILL"), PROBE_TIMEOUT_MS);
    child.once("exit", (code) => {
      clearTimeout(late);
      resolve(code);
    });
  });
}
