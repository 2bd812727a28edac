// Builds what is run: the agent (one file for a plain Node 20), the Worker, the command, and the client.
// `npm ci` calls it by `prepare`. The agent comes first: the Worker carries it, with its digest. The
// reference page lies beside the Worker. Then comes what the client derives from the routes: the command
// contains the client.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { agentOptions, commonOptions, requireBanner, root } from "./bundles.mjs";
import { clientTypes, documentOfRoutes } from "./client-types.mjs";
import { run } from "./env.mjs";
import { writeReference } from "./reference.mjs";
import { workerOptions } from "./worker-options.mjs";

const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const common = commonOptions(version);

await build(agentOptions(version, "dist/drover-agent.mjs"));

const agent = readFileSync(join(root, "dist/drover-agent.mjs"), "utf8");
const installer = readFileSync(join(root, "agent/install.sh"), "utf8");
const sha256 = createHash("sha256").update(agent).digest("hex");
mkdirSync(join(root, "src/generated"), { recursive: true });
writeFileSync(
  join(root, "src/generated/agent-bundle.ts"),
  [
    "// Made by scripts/build.mjs from agent/. Do not edit.",
    "export const AGENT = {",
    `  version: ${JSON.stringify(version)},`,
    `  sha256: ${JSON.stringify(sha256)},`,
    `  source: ${JSON.stringify(agent)},`,
    `  installer: ${JSON.stringify(installer)},`,
    "};",
    "",
  ].join("\n"),
);

writeReference(join(root, "dist/assets"));
writeFileSync(join(root, "src/generated/api.ts"), clientTypes(await documentOfRoutes(common)));

await build({
  ...common,
  entryPoints: ["src/worker.ts"],
  outfile: "dist/worker.js",
  platform: "neutral",
  mainFields: ["module", "main"],
  conditions: ["workerd", "worker", "import"],
  target: "es2023",
  external: ["cloudflare:*", "node:*"],
});

const config = join(root, "wrangler.toml");
writeFileSync(join(root, "dist/worker-options.json"), `${JSON.stringify(workerOptions(root, config))}\n`);

await build({
  ...common,
  // Split, so that verbs which do not start a control plane do not load what only `up` needs.
  entryPoints: { cli: "cli/main.ts" },
  splitting: true,
  outdir: "dist",
  outExtension: { ".js": ".mjs" },
  chunkNames: "cli-[name]-[hash]",
  platform: "node",
  target: "node20",
  banner: requireBanner,
  external: ["miniflare", "wrangler"],
});

// `drover/client` for Node 20.6 or newer, and declarations that need no package of ours. What only a local
// Drover needs is a file of its own, which is loaded then.
await build({
  ...common,
  entryPoints: { client: "client/index.ts" },
  splitting: true,
  outdir: "dist",
  outExtension: { ".js": ".mjs" },
  chunkNames: "client-[name]-[hash]",
  platform: "node",
  target: "node20",
  banner: requireBanner,
});
const declared = await run("tsc", ["-p", "tsconfig.client.json"]);
if (declared.code !== 0) process.exitCode = 1;
