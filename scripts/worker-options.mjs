// The Worker's options for the local runtime, read from `wrangler.toml` at build time: loading wrangler takes
// longer than starting everything else of `drover up`.
import { relative } from "node:path";
import { unstable_getMiniflareWorkerOptions, unstable_readConfig } from "wrangler";

/** The options of the Worker, with paths from `root`, where the file `wrangler.toml` lies. */
export function workerOptions(root, file) {
  const config = unstable_readConfig({ config: file });
  // `drover up` brings the secrets itself: wrangler would look for them in the environment and warn.
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
