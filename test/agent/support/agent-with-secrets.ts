import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { agentOptions, root } from "../../../scripts/bundles.mjs";
import type { Bench } from "./bench.ts";

/** In place of `agent/secrets.ts`: what a file says at this moment. */
const FROM_FILE = `
import { existsSync, readFileSync } from "node:fs";
export async function hostKeyIn() {}
export class AttemptSecrets {
  static async open() {
    return new AttemptSecrets();
  }
  secretsOf = (run) => {
    const file = process.env.SECRETS_FILE;
    const known = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
    const ofRun = Object.entries(known).filter(([id]) => id.startsWith(run + "/"));
    return ofRun.flatMap(([, values]) => values.map((value) => Buffer.from(value, "base64")));
  };
  forget() {}
  keepRuns() {}
  prune() {}
}`;

const secretsFileOf = ({ dir }: Bench) => join(dir, "secrets.json");

/** Builds an agent that takes the secrets of attempts from a file; resolves with the bundle. */
export async function buildAgentWithSecrets(): Promise<string> {
  const outfile = join(mkdtempSync(join(root, ".cache/built-")), "drover-agent.mjs");
  await build({
    ...agentOptions("0.0.0-test", outfile),
    plugins: [
      {
        name: "secrets of a test",
        setup: ({ onLoad }) =>
          onLoad({ filter: /agent\/secrets\.ts$/ }, () => ({ contents: FROM_FILE, loader: "ts" })),
      },
    ],
  });
  return outfile;
}

/** What such an agent finds in its environment. */
export function envOfSecrets(bench: Bench): Record<string, string> {
  return { SECRETS_FILE: secretsFileOf(bench) };
}

/** Tells such an agent, and those that follow it, the secrets of an attempt. */
export function giveSecrets(bench: Bench, id: string, values: string[]): void {
  const encoded = values.map((value) => Buffer.from(value).toString("base64"));
  writeFileSync(secretsFileOf(bench), JSON.stringify({ [id]: encoded }));
}
