import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ACCOUNT } from "./support/cloudflare.ts";
import { type Deployer, type Ended, openDeployer } from "./support/deployer.ts";

// The built command and the real wrangler against a fake of the account's API, which runs what is uploaded.

const URL_OF = "https://drover.acme.workers.dev";
const said = ({ code, stdout, stderr }: Ended) => `${code}\n${stdout}${stderr}`;

let at: Deployer;
beforeAll(async () => {
  at = await openDeployer();
});
afterAll(() => at?.close());

const folder = () => join(at.home, ".config/drover/deployments", ACCOUNT.id);
const record = () => JSON.parse(readFileSync(join(folder(), "drover.json"), "utf8"));
const config = () => JSON.parse(readFileSync(join(at.home, ".config/drover/config"), "utf8"));

describe("from nothing to a control plane (deploy.md#steps)", () => {
  test("--dry-run says what would be done, and does nothing", async () => {
    const shown = await at.drover(["deploy", "--dry-run"]);
    expect(said(shown)).toMatch(/^0\ncreate the bucket drover-logs\nmake secrets: DROVER_ADMIN_TOKEN, /);
    expect(at.account.requests.filter((one) => !one.startsWith("GET "))).toEqual([]);
    expect([at.account.workers.size, at.account.buckets.size]).toEqual([0, 0]);
  });

  test("without a terminal it asks nobody, and does nothing without --yes", async () => {
    expect(said(await at.drover(["deploy"]))).toMatch(/^125\n.*Nobody can be asked here.*--yes/s);
    expect(at.account.workers.size).toBe(0);
  });

  test("one command makes bucket, secrets, Worker, address and context", async () => {
    const done = await at.drover(["deploy", "--yes"]);
    expect(said(done)).toContain(`answers at ${URL_OF}; the context is drover.acme.workers.dev`);
    expect(done.code).toBe(0);
    expect([...at.account.buckets]).toEqual(["drover-logs"]);
    const worker = at.account.workers.get("drover");
    expect([...(worker?.secrets.keys() ?? [])].sort()).toEqual([
      "DROVER_ADMIN_TOKEN",
      "DROVER_KEK_1",
      "DROVER_SIGNING_KEY",
      "DROVER_URL",
    ]);
    expect(worker?.secrets.get("DROVER_URL")).toBe(URL_OF);
    expect(worker?.crons).toEqual(["*/5 * * * *"]);
    expect(config()).toMatchObject({ current: "drover.acme.workers.dev" });
    expect(statSync(join(folder(), "drover.json")).mode & 0o777).toBe(0o600);
    expect(done.stderr).toContain("there is no pool yet");
    for (const secret of Object.values(record().secrets)) expect(said(done)).not.toContain(secret);
  });

  test("from then on commands talk to it", async () => {
    expect(said(await at.drover(["pools"]))).toMatch(/^0\n/);
  });

  test("a second one changes no secret, and writes a backup first", async () => {
    const before = new Map(at.account.workers.get("drover")?.secrets);
    const done = await at.drover(["deploy", "--yes"]);
    expect(done.stdout).toContain("deploy version 0.1.0 again");
    expect(done.stderr).toMatch(/the backup is .*drover-0\.1\.0-.*\.jsonl\.gz/);
    expect(done.code).toBe(0);
    expect(at.account.workers.get("drover")?.secrets).toEqual(before);
    expect(readdirSync(folder()).filter((name) => name.endsWith(".gz"))).toHaveLength(1);
  });
});
