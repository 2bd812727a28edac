// How do scripts run tools that write nothing outside the checkout?
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The directory of the checkout. */
export const root = join(dirname(fileURLToPath(import.meta.url)), "..");

/** The folder for caches and temporary files of tools. Git ignores it, and it can be deleted. */
export const cacheDir = join(root, ".cache");

/**
 * Environment variables for tools, in addition to our own. They keep XDG folders and TMPDIR, which wrangler,
 * vitest and Biome write to, in the checkout; they turn off telemetry; and their PATH finds the Node that
 * `package.json` pins, which may be newer than the Node that runs this script. Creates the folders.
 */
export function checkoutEnv() {
  const folders = {
    XDG_CONFIG_HOME: join(cacheDir, "config"),
    XDG_DATA_HOME: join(cacheDir, "data"),
    XDG_CACHE_HOME: join(cacheDir, "cache"),
    XDG_STATE_HOME: join(cacheDir, "state"),
    TMPDIR: join(cacheDir, "tmp"),
  };
  for (const folder of Object.values(folders)) mkdirSync(folder, { recursive: true });
  const bin = join(root, "node_modules", ".bin");
  const path = (process.env.PATH ?? "").split(delimiter).filter((entry) => entry !== bin);
  const quiet = {
    WRANGLER_SEND_METRICS: "false",
    REDOCLY_TELEMETRY: "off",
    REDOCLY_SUPPRESS_UPDATE_NOTICE: "true",
  };
  return { ...folders, ...quiet, PATH: [bin, ...path].join(delimiter) };
}

/**
 * Runs a tool in the checkout with `checkoutEnv()` and without input, and resolves with its exit code: 127 if
 * it cannot be started, 128 if a signal ended it. Signals that would end this process are passed on to the
 * tool. With `capture` the result includes the output; without it the output is shown.
 */
export function run(command, args, { capture = false } = {}) {
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, ...checkoutEnv() },
    stdio: ["ignore", capture ? "pipe" : "inherit", capture ? "pipe" : "inherit"],
  });
  const stop = (signal) => child.kill(signal);
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of signals) process.on(signal, stop);
  return new Promise((resolve) => {
    let output = "";
    const end = (code, text = "") => {
      for (const signal of signals) process.off(signal, stop);
      resolve({ code, output: output + text });
    };
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text) => {
        output += text;
      });
    }
    child.on("error", (error) => end(127, `${command} could not be started: ${error.message}\n`));
    child.on("close", (code, signal) =>
      end(code ?? 128, signal ? `${command} was ended by ${signal}.\n` : ""),
    );
  });
}
