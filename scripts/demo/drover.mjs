// How the demo runs the built `drover` command as a person would, and records its output.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { checkoutEnv, root } from "../env.mjs";

/**
 * Its first line asks the PATH for a Node: below `checkoutEnv()` that is the pinned one, whichever runs this.
 */
const COMMAND = join(root, "bin/drover.mjs");

/**
 * Starts `drover` in a directory, shows its output as it comes unless it is `quiet`, and returns its process:
 * `said` is all of both streams, `ended` resolves with the exit code. What is still running when the demo
 * fails is in `started`.
 */
export function drover(cwd, args, { quiet = false } = {}) {
  const child = spawn(COMMAND, args, {
    cwd,
    // What a shell of the person may say about another Drover is not meant for this one.
    env: {
      ...process.env,
      ...checkoutEnv(),
      DROVER_URL: undefined,
      DROVER_TOKEN: undefined,
      DROVER_STATE: undefined,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const running = { child, said: "", ended: undefined };
  for (const [stream, shown] of [
    [child.stdout, process.stdout],
    [child.stderr, process.stderr],
  ]) {
    stream.setEncoding("utf8").on("data", (text) => {
      running.said += text;
      if (!quiet) shown.write(text);
    });
  }
  running.ended = new Promise((resolve) => {
    child.once("close", (code, signal) => resolve(code ?? signal));
  });
  started.add(running);
  void running.ended.then(() => started.delete(running));
  return running;
}

/** Commands that have been started and not ended. */
export const started = new Set();

/** Runs `drover … --json` and returns the document that it prints. */
export async function droverJson(cwd, args) {
  const running = drover(cwd, [...args, "--json"], { quiet: true });
  const code = await running.ended;
  if (code !== 0) throw new Error(`\`drover ${args.join(" ")}\` ended with ${code}: ${running.said}`);
  return JSON.parse(running.said);
}
