// Builds the command and the agent once for all test files that run them, as `scripts/build.mjs` does.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import type { TestProject } from "vitest/node";
import { agentOptions, commandOptions, root } from "../../scripts/bundles.mjs";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder with `cli.mjs` and `drover-agent.mjs`, both of the version `0.0.0-test`. */
    built: string;
  }
}

export async function setup(project: TestProject): Promise<() => void> {
  const cache = join(root, ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "built-"));
  await Promise.all([
    build(agentOptions("0.0.0-test", join(folder, "drover-agent.mjs"))),
    build(commandOptions("0.0.0-test", folder)),
  ]);
  project.provide("built", folder);
  return () => rmSync(folder, { recursive: true, force: true });
}
