// How is the dashboard built? Scripts, style sheet and document go beside the Worker, as static assets.
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { pageOptions, root } from "./bundles.mjs";

/**
 * Writes the dashboard (docs/design/ui.md) to `dir`, which the platform serves (`assets` in wrangler.toml).
 */
export async function writePage(dir) {
  mkdirSync(join(dir, "ui"), { recursive: true });
  copyFileSync(join(root, "ui/index.html"), join(dir, "ui/index.html"));
  await build(pageOptions(join(dir, "ui/files")));
}
