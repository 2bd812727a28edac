// How does the demo run the built `drover` command, as a user would, and record its output?
import { spawn } from "node:child_process";
import { join } from "node:path";
import { checkoutEnv, root } from "../env.mjs";

/** The command. Its first line looks for Node in the PATH, where `checkoutEnv()` puts the pinned one. */
const COMMAND = join(root, "bin/drover.mjs");

/**
 * Starts `drover` in a directory, prints its output live unless `quiet`, and returns its process: `output`
 * has both streams, and `ended` resolves with the exit code.
 */
export function drover(cwd, args, { quiet = false } = {}) {
  const child = spawn(COMMAND, args, {
    cwd,
    // The user's shell may have variables for another Drover.
    env: {
      ...process.env,
      ...checkoutEnv(),
      DROVER_URL: undefined,
      DROVER_TOKEN: undefined,
      DROVER_STATE: undefined,
      DROVER_CONTEXT: "local",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const running = { child, output: "", ended: undefined };
  for (const [stream, screen] of [
    [child.stdout, process.stdout],
    [child.stderr, process.stderr],
  ]) {
    stream.setEncoding("utf8").on("data", (text) => {
      running.output += text;
      if (!quiet) screen.write(text);
    });
  }
  running.ended = new Promise((resolve) => {
    child.once("close", (code, signal) => resolve(code ?? signal));
  });
  started.add(running);
  void running.ended.then(() => started.delete(running));
  return running;
}

/** The commands that are still running. */
export const started = new Set();

/** Runs `drover … --json` and returns the document that it prints. */
export async function droverJson(cwd, args) {
  const running = drover(cwd, [...args, "--json"], { quiet: true });
  const code = await running.ended;
  if (code !== 0) throw new Error(`\`drover ${args.join(" ")}\` ended with ${code}: ${running.output}`);
  return JSON.parse(running.output);
}
