// Stands in for the messages of zod in sixty languages. No bundler can leave them out by itself, since a
// library of the Worker passes the whole of zod around; they were a sixth of the Worker. English stays: zod
// loads that by itself. `bundles.mjs` and `wrangler.toml` name this file.
export {};
