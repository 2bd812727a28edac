import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ACCOUNT } from "./support/cloudflare.ts";
import { type Deployer, type Ended, openDeployer } from "./support/deployer.ts";
import { packageOf } from "./support/package.ts";

// The built command and the real wrangler against a fake of the account's API, which runs what is uploaded.

const URL_OF = "https://drover.acme.workers.dev";
const PUT = "PUT /workers/scripts/drover";
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

describe("an upgrade (deploy.md#upgrade)", () => {
  test("keeps tokens, writes a backup, says what was before; the older command is refused then", async () => {
    const made = await at.drover(["tokens", "create", "--name", "ci", "--preset", "viewer"]);
    const newer = await packageOf("0.2.0", join(at.home, "newer"));
    const shown = await at.drover(["deploy", "--dry-run"], {}, newer);
    expect(shown.stdout).toContain("write a backup\nupgrade from version 0.1.0 to 0.2.0");
    const done = await at.drover(["deploy", "--yes"], {}, newer);
    expect(said(done)).toMatch(/^0\n.*Drover, 0\.1\.0 before, 0\.2\.0 answers at https/s);
    const env = { DROVER_URL: URL_OF, DROVER_TOKEN: made.stdout.trim() };
    expect(said(await at.drover(["pools"], env))).toMatch(/^0\n/);
    const uploads = at.account.workers.get("drover")?.versions.length;
    const refused = await at.drover(["deploy", "--yes"]);
    expect(said(refused)).toMatch(/^125\n.*Version 0\.2\.0 is running, and this command is version 0\.1\.0/s);
    expect(at.account.workers.get("drover")?.versions.length).toBe(uploads);
    await packageBack();
  });

  /** Other tests deploy the command's own version again. */
  async function packageBack() {
    await at.account.edge.run("drover", {
      script: readFileSync(join(import.meta.dirname, "../../dist/worker.js"), "utf8"),
      vars: Object.fromEntries(at.account.workers.get("drover")?.secrets ?? []),
      hasBucket: true,
    });
  }

  test("that does not answer says so, and how to go back", async () => {
    const newer = join(at.home, "newer/dist/cli.mjs");
    at.account.carriedOut = (request) => {
      if (request === "POST /workers/scripts/drover/deployments") at.account.answers = false;
      if (request === "PUT /workers/scripts/drover") at.account.answers = false;
    };
    const failed = await at.drover(["deploy", "--yes", "--wait", "1s"], {}, newer);
    expect(said(failed)).toMatch(/^125\n.*is not version 0\.2\.0 yet: nothing answers there/s);
    expect(failed.stderr).toContain("go back to 0.1.0: npx wrangler rollback --name drover");
    at.account.carriedOut = () => undefined;
    const silent = await at.drover(["deploy", "--yes"], {}, newer);
    expect(said(silent)).toMatch(/^125\n.*does not answer, so nothing can be checked or backed up/s);
    at.account.answers = true;
    expect((await at.drover(["deploy", "--yes"], {}, newer)).code).toBe(0);
    await packageBack();
    // Three deployments take minutes on a busy machine.
  }, 600_000);
});

describe("another token, and a domain (deploy.md#secrets, deploy.md#domains)", () => {
  test("--rotate-token replaces the token there, here and in the context, and nothing else", async () => {
    const before = at.account.workers.get("drover")?.secrets ?? new Map();
    const old = { ...record().secrets };
    expect(said(await at.drover(["deploy", "--yes", "--rotate-token"]))).toMatch(
      /^125\n.*nobody is at a terminal here.*--token-file/s,
    );
    const done = await rotated();
    expect(done.code).toBe(0);
    expect(readFileSync(join(at.home, "token"), "utf8")).toBe(`${record().secrets.DROVER_ADMIN_TOKEN}\n`);
    expect(statSync(join(at.home, "token")).mode & 0o777).toBe(0o600);
    const after = at.account.workers.get("drover")?.secrets;
    const changed = [...before.keys()].filter((name) => before.get(name) !== after?.get(name));
    expect(changed).toEqual(["DROVER_ADMIN_TOKEN"]);
    expect(record().secrets.DROVER_ADMIN_TOKEN).toBe(after?.get("DROVER_ADMIN_TOKEN"));
    expect(record().nextToken).toBeUndefined();
    expect(said(await at.drover(["pools"]))).toMatch(/^0\n/);
    const env = { DROVER_URL: URL_OF, DROVER_TOKEN: old.DROVER_ADMIN_TOKEN };
    expect((await at.drover(["pools"], env)).code).toBe(125);
  });

  test("a rotation that was killed is known, and the next one makes another token", async () => {
    const tokenThere = () => at.account.workers.get("drover")?.secrets.get("DROVER_ADMIN_TOKEN");
    const first = tokenThere();
    at.account.carriedOut = (request) => {
      const pid = at.pid();
      const isUpload = request === "POST /workers/scripts/drover/deployments" || request === PUT;
      if (isUpload && tokenThere() !== first && pid !== undefined) process.kill(-pid, "SIGKILL");
    };
    expect((await rotated()).code).toBe("SIGKILL");
    at.account.carriedOut = () => undefined;
    const leaked = tokenThere();
    expect(record().nextToken).toBe(leaked);
    expect((await at.drover(["deploy", "--yes"])).code).toBe(0);
    expect([record().nextToken, record().secrets.DROVER_ADMIN_TOKEN]).toEqual([undefined, leaked]);
    expect((await rotated()).code).toBe(0);
    expect([first, leaked]).not.toContain(tokenThere());
    expect(said(await at.drover(["pools"]))).toMatch(/^0\n/);
    // Three deployments take minutes on a busy machine.
  }, 600_000);

  const rotated = () => at.drover(["deploy", "--yes", "--rotate-token", "--token-file", "token"]);

  test("--domain tells hosts the domain, workers.dev goes on, and a later deployment keeps it", async () => {
    const done = await at.drover(["deploy", "--yes", "--domain", "drover.acme.example"]);
    expect(said(done)).toMatch(
      /^0\n.*answers at https:\/\/drover\.acme\.example; the context is drover\.acme\.example/s,
    );
    expect(done.stderr).toContain(`machines that run go on with the address that they were given: ${URL_OF}`);
    const worker = at.account.workers.get("drover");
    expect(worker?.domains).toEqual(["drover.acme.example"]);
    expect(worker?.secrets.get("DROVER_URL")).toBe("https://drover.acme.example");
    expect(said(await at.drover(["--context", "drover.acme.workers.dev", "pools"]))).toMatch(/^0\n/);
    const again = await at.drover(["deploy", "--yes"]);
    expect(again.stdout).toContain("serve it at drover.acme.example as well");
    expect(at.account.workers.get("drover")?.domains).toEqual(["drover.acme.example"]);
  });

  test("another domain leaves the first one where it is, since machines know it", async () => {
    const done = await at.drover(["deploy", "--yes", "--domain", "build.acme.example"]);
    expect(done.stderr).toContain("the address that they were given: https://drover.acme.example");
    const both = ["drover.acme.example", "build.acme.example"];
    expect(at.account.workers.get("drover")?.domains.toSorted()).toEqual(both.toSorted());
    // A computer that has no record of it knows both, since the Worker says so.
    const env = {
      ...{ DROVER_URL: "https://build.acme.example", XDG_CONFIG_HOME: join(at.home, "elsewhere") },
      DROVER_TOKEN: record().secrets.DROVER_ADMIN_TOKEN,
    };
    const again = ["deploy", "--yes", "--domain", "build.acme.example"];
    expect(said(await at.drover(again, env))).toMatch(/^0\n/);
    expect(at.account.workers.get("drover")?.domains.toSorted()).toEqual(both.toSorted());
  });

  test("a domain that is none is refused before anything is asked", async () => {
    const before = at.account.requests.length;
    const refused = await at.drover(["deploy", "--domain", "https://x/y"]);
    expect(said(refused)).toMatch(/^125\n.*It must be a host name/s);
    expect(at.account.requests.length).toBe(before);
  });
});
