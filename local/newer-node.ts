import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";

/** What wrangler and Miniflare need; Drover's other commands run with less. */
export const LEAST_NODE = 22;

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
