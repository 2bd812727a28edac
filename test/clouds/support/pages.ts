// A new user follows a page of `docs/clouds` from an empty directory, against a fake of that cloud.
import { rmSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { examplesOf, isAsShown, readDocument } from "../../docs/support/examples.ts";
import { makeReader, type Reader, runExamples } from "../../docs/support/shell.ts";
import { endDrover, makeHome, type RunningDrover, startDrover } from "../../edge/support/drover.ts";
import { until } from "../../local/support/scratch.ts";
import type { LocalMachines } from "./machines.ts";
import { startWay } from "./start-way.ts";
import type { WholeFake, WholeWay } from "./whole.ts";

/**
 * Registers the test that follows the page of a kind of cloud. The fake's address is put where the user's
 * cloud would be. `env`: what the reader has in the environment.
 */
export function testPage(way: WholeWay, env: Record<string, string>): void {
  const kind = way.name;
  const path = `docs/clouds/${kind}.md`;
  let home = "";
  let reader: Reader;
  let fake: WholeFake;
  let machines: LocalMachines;
  let running: RunningDrover | undefined;

  beforeAll(async () => {
    home = makeHome(`page-${kind}`);
    reader = makeReader(home);
    ({ fake, machines } = await startWay(way, home));
    running = await startDrover(home);
  });
  afterAll(async () => {
    await endDrover(home, running);
    await machines.stop();
    fake.stop();
    rmSync(home, { recursive: true, force: true });
  });

  test(`${path} leads from nothing to a run, and back to nothing`, { timeout: 240_000 }, async () => {
    const values = Object.entries(env).map(([name, value]) => `export ${name}='${value}'\n`);
    const examples = examplesOf(readDocument(path)).map((example, index) => ({
      ...example,
      script:
        (index === 0 ? values.join("") : "") +
        example.script
          .replace(`"kind": "${kind}",`, `"kind": "${kind}", "endpoint": "${fake.url}",`)
          .replace(`--cloud ${kind} `, `--cloud ${kind} --endpoint ${fake.url} `),
    }));
    const outcomes = await runExamples(examples, reader);
    for (const [index, { line, shown }] of examples.entries()) {
      const { output = "", code } = outcomes[index] ?? {};
      expect(code, `${path}:${line} wrote:\n${output}`).toBe(0);
      if (shown !== undefined)
        expect(isAsShown(output, shown), `${path}:${line} wrote:\n${output}`).toBe(true);
    }
    await until(
      "nothing is left",
      () => fake.left().length === 0 || undefined,
      () => fake.left(),
    );
    expect(fake.bill()).toBeGreaterThan(0);
  });
}
