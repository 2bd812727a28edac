// How does esbuild make each of our bundles? `build.mjs`, `dev.mjs` and tests that build their own agent use
// these options.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
export const { version } = manifest;

const UNUSED_ZOD = /^(\.\.\/locales\/index|\.\/from-json-schema|\.\/compile)\.js$/;

/**
 * Leaves out parts of zod that nobody uses (`unused-zod.mjs`); `wrangler.toml` has them as aliases.
 * @type {import("esbuild").Plugin}
 */
const withoutUnusedZod = {
  name: "without-unused-zod",
  setup({ onResolve }) {
    onResolve({ filter: UNUSED_ZOD }, ({ importer }) =>
      importer.includes("/node_modules/zod/") ? { path: join(root, "scripts/unused-zod.mjs") } : undefined,
    );
  },
};

/** @returns {import("esbuild").BuildOptions} */
export const commonOptions = (ofVersion = version) => ({
  absWorkingDir: root,
  bundle: true,
  format: "esm",
  sourcemap: false,
  logLevel: "warning",
  loader: { ".sh": "text", ".zsh": "text", ".fish": "text" },
  plugins: [withoutUnusedZod],
  define: {
    DROVER_VERSION: JSON.stringify(ofVersion),
    WRANGLER_VERSION: JSON.stringify({ ...manifest.dependencies, ...manifest.devDependencies }.wrangler),
  },
});

/** Bundled CommonJS modules call `require` for Node's own modules. An ES module must create that function. */
const requireBanner = {
  js: 'import { createRequire as from } from "node:module"; const require = from(import.meta.url);',
};

/**
 * The agent: one file for a plain Node 20, without the optional native helpers of `ws`. Each new machine
 * fetches it, so it has no comments and no spaces. Names stay, for whoever reads a stack trace.
 * @returns {import("esbuild").BuildOptions}
 */
export const agentOptions = (ofVersion = version, outfile = "dist/drover-agent.mjs") => ({
  ...commonOptions(ofVersion),
  entryPoints: ["agent/main.ts"],
  outfile,
  platform: "node",
  target: "node20",
  minifyWhitespace: true,
  minifySyntax: true,
  lineLimit: 200,
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
 * A bundle for Node 20.6 or newer, split into parts that are loaded when a verb or a method needs them.
 * @returns {import("esbuild").BuildOptions}
 */
const inParts = (name, entryPoint, ofVersion = version, outdir = "dist") => ({
  ...commonOptions(ofVersion),
  entryPoints: { [name]: entryPoint },
  splitting: true,
  outdir,
  outExtension: { ".js": ".mjs" },
  chunkNames: `${name}-[name]-[hash]`,
  platform: "node",
  target: "node20",
  banner: requireBanner,
});

/**
 * The command `drover`, with its parts beside it.
 * @returns {import("esbuild").BuildOptions}
 */
export const commandOptions = (ofVersion, outdir) => ({
  ...inParts("cli", "cli/main.ts", ofVersion, outdir),
  external: ["miniflare", "wrangler"],
});
export const client = inParts("client", "client/index.ts");

/**
 * The dashboard. What one page alone needs is a file of its own, which is loaded with this page.
 * @returns {import("esbuild").BuildOptions}
 */
export const pageOptions = (outdir) => ({
  ...commonOptions(),
  // The last one runs in a thread of its own: its address is known by name (ui/log/search/worker-url.ts).
  entryPoints: { main: "ui/main.tsx", style: "ui/style.css", "log-search": "ui/log/search/worker.ts" },
  outdir,
  splitting: true,
  chunkNames: "[name]-[hash]",
  platform: "browser",
  target: ["es2023", "chrome123", "firefox121", "safari17.5"],
  jsx: "automatic",
  jsxImportSource: "preact",
  minify: true,
});
