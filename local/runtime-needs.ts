// Can workerd run on this machine?
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";
import { UpError } from "./up-error.ts";

/** The oldest Node that wrangler and Miniflare accept. Drover's other commands run with older versions. */
const LEAST_NODE = 22;

/** Throws an `UpError` that says why, if the control plane cannot run here. */
export function checkRuntimeNeeds(): void {
  if (!hasRuntime()) {
    throw new UpError(
      "`drover up` needs the local runtime (workerd), which is too large for the installed package. " +
        "It works in a checkout of Drover, after `npm ci`. All other verbs work here: " +
        "set DROVER_URL and DROVER_TOKEN to use a Drover elsewhere.",
    );
  }
  if (isNodeNewEnough()) return;
  throw new UpError(
    `\`drover up\` needs Node ${LEAST_NODE} or newer, and this is ${process.versions.node}. ` +
      "Install a newer Node, or run `npm ci` in the checkout of Drover, which brings one along.",
  );
}

function hasRuntime(): boolean {
  const { resolve } = createRequire(import.meta.url);
  try {
    for (const name of ["miniflare", "wrangler"]) resolve(name);
    return true;
  } catch {
    return false;
  }
}

/** Whether this Node can run the control plane. */
export function isNodeNewEnough(): boolean {
  return Number.parseInt(process.versions.node, 10) >= LEAST_NODE;
}

/**
 * Runs the same command line with the Node that this checkout has for its tools, and resolves with its exit
 * code; undefined if there is no such Node, as in an installed package.
 */
export async function runByNodeOfCheckout(signals: readonly NodeJS.Signals[]): Promise<number | undefined> {
  const node = fileURLToPath(new URL("../node_modules/node/bin/node", import.meta.url));
  if (!existsSync(node)) return undefined;
  const child = spawn(node, process.argv.slice(1), { stdio: "inherit" });
  // The terminal sends Ctrl-C to the child, too. The child counts both signals as one press (`ONE_PRESS_MS`).
  for (const signal of signals) process.on(signal, () => child.kill(signal));
  return await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? "SIGKILL"]));
  });
}
