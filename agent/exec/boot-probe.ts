import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { sendSignal } from "../../posix/proc.ts";
import type { Millis } from "../../src/shared/machine.ts";
import { errorText } from "../../src/shared/words.ts";
import { baseEnvironment } from "./environment.ts";

/** A boot probe that takes longer has failed: a machine that hangs must be seen to hang. */
const PROBE_TIMEOUT_MS: Millis = 60_000;
/** How much of its output is kept: the end, because errors stand there (host-protocol.md#boot). */
const PROBE_OUTPUT_CHARS = 4_096;

/**
 * Runs the boot probe by `sh -c` once. Its output goes through a file, so that a service that it starts and
 * that keeps the file open does not keep it waiting.
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
  const output = openSync(file, "w", 0o600);
  try {
    const child = spawn("/bin/sh", ["-c", command], {
      cwd: "/",
      env: { ...baseEnvironment(), ...(instance === undefined ? {} : { DROVER_INSTANCE: instance }) },
      detached: true,
      stdio: ["ignore", output, output],
    });
    return new Promise((resolve, reject) => {
      child.once("error", reject);
      const { pid } = child;
      if (pid === undefined) return; // it could not be started, and says why
      // The negative pid is its process group: what the probe waits for hangs with it.
      const late = setTimeout(() => sendSignal(-pid, "SIGKILL"), PROBE_TIMEOUT_MS);
      child.once("exit", (code) => {
        clearTimeout(late);
        resolve(code);
      });
    });
  } finally {
    closeSync(output);
  }
}
