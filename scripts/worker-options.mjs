// What does `wrangler.toml` say to the local runtime, and to `drover deploy`? It is read at build time, since
// loading wrangler takes longer than the rest of `drover up`.
import { relative } from "node:path";
import {
  experimental_readRawConfig,
  unstable_getMiniflareWorkerOptions,
  unstable_readConfig,
} from "wrangler";

/** The options of the Worker, with paths relative to `root`, the folder of `wrangler.toml`. */
export function workerOptions(root, file) {
  const config = unstable_readConfig({ config: file });
  // `drover up` sets the secrets itself. wrangler would look for them in the environment, and warn.
  const { workerOptions: options } = unstable_getMiniflareWorkerOptions({ ...config, secrets: undefined });
  const { assets } = options;
  return {
    name: config.name,
    vars: config.vars,
    crons: config.triggers.crons ?? [],
    options: {
      ...options,
      rootPath: ".",
      assets: { ...assets, directory: relative(root, assets.directory) },
    },
  };
}

/**
 * The configuration that `drover deploy` completes: as written, but for the built Worker in place of its
 * sources, in which shell scripts and languages are settled already.
 */
export function deployTemplate(file) {
  const { rawConfig } = experimental_readRawConfig({ config: file });
  const { rules: _rules, alias: _alias, ...rest } = rawConfig;
  return { ...rest, main: "dist/worker.js" };
}
