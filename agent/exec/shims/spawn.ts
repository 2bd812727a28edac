// How is a shell script started so that it can outlive the agent?
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";

/**
 * Starts `/bin/sh -c script …args` in its own session. The first file is its standard input; the other files
 * are its descriptors from 1 on, opened for appending. Throws if a file cannot be opened.
 */
export function spawnScript(
  script: string,
  args: string[],
  env: Record<string, string | undefined>,
  [input, ...outputs]: [string, ...string[]],
  cwd = "/",
): ChildProcess {
  const files = [openSync(input, "r")];
  try {
    for (const file of outputs) files.push(openSync(file, "a", 0o600));
    return spawn("/bin/sh", ["-c", script, ...args], { cwd, env, detached: true, stdio: files });
  } finally {
    for (const file of files) closeSync(file);
  }
}
