// How esbuild makes each of our bundles, for `build.mjs` and `dev.mjs`; tests that run an agent of their own
// make it the same way.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "..");
export const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** @returns {import("esbuild").BuildOptions} */
export const commonOptions = (ofVersion = version) => ({
  absWorkingDir: root,
  bundle: true,
  format: "esm",
  sourcemap: false,
  logLevel: "warning",
  loader: { ".sh": "text" },
  define: { DROVER_VERSION: JSON.stringify(ofVersion) },
});

/** Bundled CommonJS calls `require` for Node's own modules; an ES module has none unless it makes one. */
const requireBanner = {
  js: 'import { createRequire as from } from "node:module"; const require = from(import.meta.url);',
};

/**
 * The agent: one file for a plain Node 20. The optional helpers of `ws` are native, and not there.
 * @returns {import("esbuild").BuildOptions}
 */
export const agentOptions = (ofVersion = version, outfile = "dist/drover-agent.mjs") => ({
  ...commonOptions(ofVersion),
  entryPoints: ["agent/main.ts"],
  outfile,
  platform: "node",
  target: "node20",
  banner: requireBanner,
  external: ["bufferutil", "utf-8-validate"],
});

/** @type {import("esbuild").BuildOptions} */
export const worker = {
  ...commonOptions(),
  entryPoints: ["src/worker.ts"],
  outfile: "dist/worker.js",
  platform: "neutral",
  mainFields: ["module", "main"],
  conditions: ["workerd", "worker", "import"],
  target: "es2023",
  external: ["cloudflare:*", "node:*"],
};

/**
 * For Node 20.6 or newer, in parts: what only one verb or method needs is a file of its own, loaded then.
 * @returns {import("esbuild").BuildOptions}
 */
const inParts = (name, entryPoint) => ({
  ...commonOptions(),
  entryPoints: { [name]: entryPoint },
  splitting: true,
  outdir: "dist",
  outExtension: { ".js": ".mjs" },
  chunkNames: `${name}-[name]-[hash]`,
  platform: "node",
  target: "node20",
  banner: requireBanner,
});

export const command = { ...inParts("cli", "cli/main.ts"), external: ["miniflare", "wrangler"] };
export const client = inParts("client", "client/index.ts");
