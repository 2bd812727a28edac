import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";
import { UpError } from "./up-error.ts";

/** What wrangler and Miniflare need; Drover's other commands run with less. */
const LEAST_NODE = 22;

/** Throws an `UpError` in plain words if the control plane cannot run here at all. */
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
 * Runs the present command line by the Node of this checkout, which has one for its tools, and resolves with
 * its exit code. Undefined: there is none, as in an installed package.
 */
export async function runByNodeOfCheckout(signals: readonly NodeJS.Signals[]): Promise<number | undefined> {
  const node = fileURLToPath(new URL("../node_modules/node/bin/node", import.meta.url));
  if (!existsSync(node)) return undefined;
  const child = spawn(node, process.argv.slice(1), { stdio: "inherit" });
  // A terminal sends Ctrl-C to both: for the child that is one press, as it is below npx.
  for (const signal of signals) process.on(signal, () => child.kill(signal));
  return await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? "SIGKILL"]));
  });
}
