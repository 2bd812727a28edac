import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { unstable_readConfig } from "wrangler";

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
