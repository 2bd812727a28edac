import { mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { agentOptions, root } from "../../../scripts/bundles.mjs";

const ROOTS = '["/run", "/dev/shm"]';

/** Builds an agent that finds no file system in memory on its machine; resolves with the bundle. */
export async function buildAgentWithoutMemory(): Promise<string> {
  const outfile = join(mkdtempSync(join(root, ".cache/built-")), "drover-agent.mjs");
  await build({
    ...agentOptions("0.0.0-test", outfile),
    plugins: [
      {
        name: "no memory for files",
        setup: ({ onLoad }) =>
          onLoad({ filter: /posix\/memory-dir\.ts$/ }, ({ path }) => {
            const source = readFileSync(path, "utf8");
            if (!source.includes(ROOTS)) throw new Error(`${path} does not name ${ROOTS} any more`);
            return { contents: source.replace(ROOTS, "[]"), loader: "ts" };
          }),
      },
    ],
  });
  return outfile;
}
