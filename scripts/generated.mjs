// Which files does one part of Drover generate for another? The Worker knows the agent, the client knows
// the routes, and the local runtime the content of `wrangler.toml`. A file is written only if it has changed.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root, version } from "./bundles.mjs";
import { clientTypes, documentOfRoutes } from "./client-types.mjs";
import { deployTemplate, workerOptions } from "./worker-options.mjs";

/**
 * Writes `src/generated/agent-bundle.ts` from the built agent and its installer. The agent itself is an asset
 * of the Worker, named by its digest: code and asset of a deployment always fit together.
 */
export function writeAgentModule() {
  const source = readFileSync(join(root, "dist/drover-agent.mjs"), "utf8");
  const installer = readFileSync(join(root, "agent/install.sh"), "utf8");
  const sha256 = createHash("sha256").update(source).digest("hex");
  const lines = [
    "// Made by scripts/generated.mjs from agent/. Do not edit.",
    "export const AGENT = {",
    `  version: ${JSON.stringify(version)},`,
    `  sha256: ${JSON.stringify(sha256)},`,
    `  installer: ${JSON.stringify(installer)},`,
    "};",
  ];
  write("src/generated/agent-bundle.ts", lines.join("\n"));
  const assets = join(root, "dist/assets/agent");
  rmSync(assets, { recursive: true, force: true });
  mkdirSync(assets, { recursive: true });
  writeFileSync(join(assets, `${sha256}.mjs`), source);
}

/** Writes `src/generated/api.ts` from the routes. */
export async function writeApiModule() {
  write("src/generated/api.ts", clientTypes(await documentOfRoutes()).trimEnd());
}

/** Writes `dist/worker-options.json` and `dist/deploy.json` from `wrangler.toml`. */
export function writeWorkerOptions() {
  const file = join(root, "wrangler.toml");
  write("dist/worker-options.json", JSON.stringify(workerOptions(root, file)));
  write("dist/deploy.json", JSON.stringify(deployTemplate(file)));
}

function write(path, text) {
  const file = join(root, path);
  if (existsSync(file) && readFileSync(file, "utf8") === `${text}\n`) return;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${text}\n`);
}
