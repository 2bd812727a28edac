// How is the dashboard built? Scripts, style sheet and document go beside the Worker, as static assets.
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { pageOptions, root } from "./bundles.mjs";

/** The document of the dashboard, and what it loads first, in `dist`. */
export const PAGE_FILES = ["index.html", "files/main.js", "files/style.css"].map(
  (name) => `assets/ui/${name}`,
);

/**
 * Writes the dashboard (docs/design/ui.md) to `dir`, which the platform serves (`assets` in wrangler.toml).
 * Parts of an earlier build go: their names are digests, so nothing else would replace them.
 */
export async function writePage(dir) {
  rmSync(join(dir, "ui"), { recursive: true, force: true });
  copyDocument(dir);
  await build(pageOptions(join(dir, "ui/files")));
}

/** Writes the document of the dashboard to `dir`. */
export function copyDocument(dir) {
  mkdirSync(join(dir, "ui"), { recursive: true });
  copyFileSync(join(root, "ui/index.html"), join(dir, "ui/index.html"));
}
