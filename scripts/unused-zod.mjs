// Stands in for parts of zod that Drover does not use: messages in sixty languages, schemas made from JSON
// Schema, and schemas that are compiled. No bundler can leave them out by itself, since a library of the
// Worker passes the whole of zod around. `bundles.mjs` and `wrangler.toml` name this file.
export const fromJSONSchema = undefined;
export const INVALID = undefined;
export const compile = undefined;
export const withParser = undefined;
export const ZodCompileAsyncError = undefined;
export const ZodCompileUnsupportedError = undefined;
