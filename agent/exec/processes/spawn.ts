// How is a shell script started apart from the agent?
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";

/**
 * Starts `/bin/sh -c script …args` in a session of its own. Its standard input is the first of these files;
 * the others, from descriptor 1 on, are appended to. Throws if a file cannot be opened.
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
