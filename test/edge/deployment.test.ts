import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { unstable_readConfig } from "wrangler";
import { configurationFor } from "../../cli/deploy/configuration.ts";
import { run } from "../../scripts/env.mjs";

const ROOT = join(import.meta.dirname, "../..");
const read = (name: string) => readFileSync(join(ROOT, name), "utf8");
const config = unstable_readConfig({ config: join(ROOT, "wrangler.toml") });

test("P21: what is yours of a deployment stands in a file that git ignores", () => {
  expect(config.vars).toEqual({});
  const yours = [...read(".dev.vars.example").matchAll(/^(\w+)=""$/gm)].map(([, name]) => name);
  expect(yours).toEqual(["DROVER_ADMIN_TOKEN", "DROVER_SIGNING_KEY", "DROVER_KEK_1", "DROVER_URL"]);
  expect(read(".gitignore").split("\n")).toContain(".dev.vars");
});

test("P22: the log of a deployment has every error: no request is left out by chance", () => {
  expect(config.observability).toMatchObject({ enabled: true, head_sampling_rate: 1 });
});

test("wrangler bundles and checks what `drover deploy` gives it (deploy.md#wrangler)", async () => {
  const folder = mkdtempSync(join(ROOT, ".cache", "dry-run-"));
  const file = join(folder, "wrangler.json");
  const target = { name: "drover", account: "a", bucket: "drover-logs", domains: ["drover.example.com"] };
  const template = JSON.parse(read("dist/deploy.json"));
  writeFileSync(file, JSON.stringify(configurationFor(template, target, (path) => join(ROOT, path))));
  const args = ["deploy", "--dry-run", "--config", file, "--outdir", join(folder, "out")];
  const { code, output } = await run("wrangler", args, { capture: true });
  expect([code, output]).toEqual([0, output]);
  for (const binding of ["ALLOCATION", "CLOUD_WORKER", "POOL", "REGISTRY", "WEBHOOK", "LOGS", "ASSETS"])
    expect(output).toContain(`env.${binding}`);
  rmSync(folder, { recursive: true, force: true });
});
