// What is made of one part of Drover for another: the Worker carries the agent, the client knows the routes,
// and the local runtime what `wrangler.toml` says. Each file is written only if its text is new.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root, version } from "./bundles.mjs";
import { clientTypes, documentOfRoutes } from "./client-types.mjs";
import { workerOptions } from "./worker-options.mjs";

/** `src/generated/agent-bundle.ts`, of the built agent and its installer. */
export function writeAgentModule() {
  const source = readFileSync(join(root, "dist/drover-agent.mjs"), "utf8");
  const installer = readFileSync(join(root, "agent/install.sh"), "utf8");
  const sha256 = createHash("sha256").update(source).digest("hex");
  const lines = [
    "// Made by scripts/generated.mjs from agent/. Do not edit.",
    "export const AGENT = {",
    `  version: ${JSON.stringify(version)},`,
    `  sha256: ${JSON.stringify(sha256)},`,
    `  source: ${JSON.stringify(source)},`,
    `  installer: ${JSON.stringify(installer)},`,
    "};",
  ];
  write("src/generated/agent-bundle.ts", lines.join("\n"));
}

/** `src/generated/api.ts`, of the routes. */
export async function writeApiModule() {
  write("src/generated/api.ts", clientTypes(await documentOfRoutes()).trimEnd());
}

/** `dist/worker-options.json`, of `wrangler.toml`. */
export function writeWorkerOptions() {
  write("dist/worker-options.json", JSON.stringify(workerOptions(root, join(root, "wrangler.toml"))));
}

function write(path, text) {
  const file = join(root, path);
  if (existsSync(file) && readFileSync(file, "utf8") === `${text}\n`) return;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${text}\n`);
}
