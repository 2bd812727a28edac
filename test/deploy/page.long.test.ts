import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { blocksOf, isAsShown, readDocument } from "../docs/support/examples.ts";
import { type Deployer, openDeployer } from "./support/deployer.ts";

// Each `drover deploy` of docs/deploy.md is typed here, in its order, and shows what the page says.

const blocks = blocksOf(readDocument("docs/deploy.md"));
const DEPLOYMENTS = blocks.flatMap(({ language, text, line }, index) => {
  if (language !== "shell" || !text.startsWith("drover deploy")) return [];
  const next = blocks[index + 1];
  return [
    { line, args: text.trim().split(/\s+/).slice(1), shown: next?.language === "text" ? next.text : null },
  ];
});

let at: Deployer;
beforeAll(async () => {
  at = await openDeployer();
});
afterAll(() => at?.close());

describe("docs/deploy.md", () => {
  test("deploys, adds a domain and upgrades", () => {
    expect(DEPLOYMENTS.length).toBeGreaterThanOrEqual(3);
  });

  test.each(DEPLOYMENTS)("line $line: $args", async ({ args, shown }) => {
    const { code, stdout, stderr } = await at.drover([...args, "--yes"]);
    expect([code, stderr]).toEqual([0, stderr]);
    if (shown !== null) expect(isAsShown(stdout + stderr, shown), stdout + stderr).toBe(true);
  });
});
