import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { atTerminal, HAS_TERMINAL, NEEDS_TERMINAL } from "../cli/support/terminal.ts";
import { COMMAND, type Deployer, openDeployer } from "./support/deployer.ts";

// What a person at a terminal is asked before anything is deployed.

if (!HAS_TERMINAL) process.stderr.write(`${NEEDS_TERMINAL}\n`);

let at: Deployer;
beforeAll(async () => {
  at = await openDeployer();
});
afterAll(() => at?.close());

const deploy = (...more: string[]) =>
  atTerminal([process.execPath, COMMAND, "deploy", ...more], at.home, at.env);

/** Longer than each wait for what is on the screen, of which one test has several. */
const PATIENT = { timeout: 600_000 };

describe.skipIf(!HAS_TERMINAL)("drover deploy at a terminal (deploy.md#steps)", PATIENT, () => {
  test("shows the plan, asks once, and does nothing on a no", async () => {
    const one = deploy();
    await one.says(/deploy Drover .* as the Worker drover, in the account Acme.*Do all of this\?/s);
    one.type("n\n");
    const { code, screen } = await one.ended;
    expect([code, screen]).toEqual([125, expect.stringContaining("Nothing has been deployed.")]);
    expect([at.account.workers.size, at.account.buckets.size]).toEqual([0, 0]);
  });

  test("asks which of several accounts, and deploys there on a yes", async () => {
    at.account.accounts.unshift({ id: "f".repeat(32), name: "Other" });
    const one = deploy();
    await one.says(/Which account\?.*Other.*Acme.*Its id or name/s);
    one.type("Acme\n");
    await one.says(/Do all of this\?/);
    one.type("y\n");
    await one.says(/answers at https:\/\/drover\.acme\.workers\.dev/);
    expect((await one.ended).code).toBe(0);
    expect([...at.account.workers.keys()]).toEqual(["drover"]);
  });
});
