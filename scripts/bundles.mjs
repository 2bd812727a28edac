// How esbuild makes our bundles; tests that run an agent of their own make it the same way.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "..");

/** @returns {import("esbuild").BuildOptions} */
export const commonOptions = (version) => ({
  absWorkingDir: root,
  bundle: true,
  format: "esm",
  sourcemap: false,
  logLevel: "warning",
  loader: { ".sh": "text" },
  define: { DROVER_VERSION: JSON.stringify(version) },
});

/** Bundled CommonJS calls `require` for Node's own modules; an ES module has none unless it makes one. */
export const requireBanner = {
  js: 'import { createRequire as from } from "node:module"; const require = from(import.meta.url);',
};

/**
 * The agent: one file for a plain Node 20. The optional helpers of `ws` are native, and not there.
 * @returns {import("esbuild").BuildOptions}
 */
export const agentOptions = (version, outfile) => ({
  ...commonOptions(version),
  entryPoints: ["agent/main.ts"],
  outfile,
  platform: "node",
  target: "node20",
  banner: requireBanner,
  external: ["bufferutil", "utf-8-validate"],
});
