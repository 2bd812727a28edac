import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { commandOptions, root, version } from "../../../scripts/bundles.mjs";

/** Makes the package of another version, with its command and its Worker. Returns the path of the command. */
export async function packageOf(ofVersion: string, folder: string): Promise<string> {
  const dist = join(folder, "dist");
  mkdirSync(dist, { recursive: true });
  await build(commandOptions(ofVersion, dist));
  for (const name of ["assets", "deploy.json"]) {
    cpSync(join(root, "dist", name), join(dist, name), { recursive: true });
  }
  const worker = readFileSync(join(root, "dist/worker.js"), "utf8");
  writeFileSync(join(dist, "worker.js"), worker.replaceAll(`"${version}"`, `"${ofVersion}"`));
  return join(dist, "cli.mjs");
}
