// How every script runs its tools, so that they write nothing outside the checkout.
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The checkout. */
export const root = join(dirname(fileURLToPath(import.meta.url)), "..");

/** Where tools leave what they must leave somewhere. Git ignores it; removing it costs nothing but time. */
export const cacheDir = join(root, ".cache");

/**
 * The environment for tools, as additions to the present one. wrangler, vitest and Biome write into XDG
 * folders and into TMPDIR, wrangler and redocly count their uses unless told not to, and tools need the Node
 * that is pinned in `package.json`, which may be newer than the one that runs this script. Makes the folders.
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
 * Runs a tool in the checkout with `checkoutEnv()` and without input, and answers how it ended. A signal that
 * asks this process to stop is handed on, so that nothing stays behind. With `capture` the output is answered
 * instead of shown. A tool that cannot be started counts as exit code 127; one that a signal ended as 128, as
 * in a shell.
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
