import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { environmentOf, listPids } from "../../posix/proc.ts";
import { until } from "../local/support/scratch.ts";
import { ACCOUNT } from "./support/cloudflare.ts";
import { type Deployer, type Ended, openDeployer } from "./support/deployer.ts";
import { packageOf } from "./support/package.ts";

const manifest = createRequire(import.meta.url).resolve("wrangler/package.json");
const WRANGLER = join(dirname(manifest), "bin/wrangler.js");
const { version: wranglerVersion } = JSON.parse(readFileSync(manifest, "utf8"));

// What goes wrong at the account, and what a deployment that was killed leaves behind.

const said = ({ code, stdout, stderr }: Ended) => `${code}\n${stdout}${stderr}`;

let at: Deployer;
beforeEach(async () => {
  at = await openDeployer();
});
afterEach(() => at?.close());

const recordFile = () => join(at.home, ".config/drover/deployments", ACCOUNT.id, "drover.json");
const secretsHere = () => JSON.parse(readFileSync(recordFile(), "utf8")).secrets;
const secretsThere = (): Record<string, string> =>
  Object.fromEntries(at.account.workers.get("drover")?.secrets ?? []);
/** What was written for wrangler to send. */
const filesWithSecrets = () =>
  readdirSync(dirname(recordFile())).filter((name) => name.includes(".sending-"));
const deploy = (...more: string[]) => at.drover(["deploy", "--yes", ...more]);

describe("a deployment that is killed is finished by the same command (deploy.md#steps)", () => {
  test.each([
    ["after the bucket was made", "POST /r2/buckets"],
    ["after the upload", "PUT /workers/scripts/drover"],
    ["before its cron was set", "POST /workers/scripts/drover/subdomain"],
    ["after the Worker was told its address", "PATCH /workers/scripts/drover/secrets-bulk"],
  ])("%s", async (_when, request) => {
    at.account.carriedOut = (name) => {
      const pid = at.pid();
      // Its whole process group: wrangler dies with it.
      if (name === request && pid !== undefined) process.kill(-pid, "SIGKILL");
    };
    expect((await deploy()).code).toBe("SIGKILL");
    expect(existsSync(join(at.home, ".config/drover/config"))).toBe(false);
    at.account.carriedOut = () => undefined;
    const made = existsSync(recordFile()) ? secretsHere() : {};
    const done = await deploy();
    expect(said(done)).toMatch(/^0\n/);
    expect(secretsHere()).toMatchObject(made);
    expect(secretsThere()).toEqual({ ...secretsHere(), DROVER_URL: "https://drover.acme.workers.dev" });
    expect(said(await at.drover(["pools"]))).toMatch(/^0\n/);
  });
});

describe("a first deployment with a domain that is killed is finished by the same command", () => {
  test.each([
    ["after the upload", "PUT /workers/scripts/drover"],
    ["after the domain was made", "PUT /workers/scripts/drover/domains/records"],
  ])("%s (deploy.md#steps)", async (_when, request) => {
    at.account.carriedOut = (name) => {
      const pid = at.pid();
      if (name === request && pid !== undefined) process.kill(-pid, "SIGKILL");
    };
    expect((await deploy("--domain", "drover.acme.example")).code).toBe("SIGKILL");
    at.account.carriedOut = () => undefined;
    const made = secretsHere();
    expect(said(await deploy())).toMatch(/^0\n/);
    expect(secretsHere()).toEqual(made);
    expect(secretsThere()).toEqual({ ...made, DROVER_URL: "https://drover.acme.example" });
    expect(at.account.workers.get("drover")?.domains).toEqual(["drover.acme.example"]);
    expect(filesWithSecrets()).toEqual([]);
  });

  test("and one whose domain is refused, also with none", async () => {
    const request = "PUT /workers/scripts/drover/domains/records";
    const refusal = { status: 400, code: 100117, message: "The zone is in another account." };
    at.account.fault = (name) => (name === request ? refusal : undefined);
    const failed = await deploy("--domain", "drover.acme.example");
    expect(said(failed)).toMatch(/^125\n.*The same command goes on from there/s);
    at.account.fault = () => undefined;
    expect(said(await deploy("--domain", "drover.acme.example"))).toMatch(/^0\n/);
  });
});

describe("a signal ends a deployment with all that it has started (deploy.md#signals)", () => {
  const processesOfIt = () => listPids().filter((pid) => environmentOf(pid).includes(`HOME=${at.home}`));

  test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("%s", async (signal) => {
    const temporary = join(at.home, "tmp");
    mkdirSync(temporary);
    let before: { secrets: string[]; directories: string[]; processes: number } | undefined;
    at.account.carriedOut = (name) => {
      const pid = at.pid();
      if (name !== "PUT /workers/scripts/drover" || pid === undefined) return;
      const processes = processesOfIt().length;
      before = { secrets: filesWithSecrets(), directories: readdirSync(temporary), processes };
      process.kill(pid, signal);
    };
    expect((await at.drover(["deploy", "--yes"], { TMPDIR: temporary })).code).toBe(signal);
    // The compiler that wrangler has started ends when it sees that its standard input has ended.
    await until("nothing of it runs", () => processesOfIt().length === 0 || undefined, processesOfIt);
    expect([before?.secrets.length, before?.directories.length]).toEqual([1, 1]);
    expect(before?.processes).toBeGreaterThan(1);
    expect([filesWithSecrets(), readdirSync(temporary)]).toEqual([[], []]);
  });

  test("and what a SIGKILL leaves, the next deployment removes", async () => {
    at.account.carriedOut = (name) => {
      const pid = at.pid();
      if (name === "PUT /workers/scripts/drover" && pid !== undefined) process.kill(-pid, "SIGKILL");
    };
    expect((await deploy()).code).toBe("SIGKILL");
    expect(filesWithSecrets()).toHaveLength(1);
    at.account.carriedOut = () => undefined;
    expect((await deploy("--dry-run")).code).toBe(0);
    expect(filesWithSecrets()).toEqual([]);
  });
});

describe("a refusal of the account says what to do, and the command goes on from there", () => {
  const FAULTS: [what: string, request: string, fault: [number, number, string], says: RegExp][] = [
    [
      "a token that may not see buckets",
      "GET /r2/buckets",
      [403, 10000, "Authentication error"],
      /could not list the buckets.*Workers R2 Storage \(edit\)/s,
    ],
    [
      "an account without R2",
      "POST /r2/buckets",
      [403, 10042, "Please enable R2 through the Cloudflare Dashboard."],
      /R2 is not enabled in this account.*--no-bucket/s,
    ],
    [
      "an upload that is refused",
      "PUT /workers/scripts/drover",
      [400, 10021, "Uncaught SyntaxError: Unexpected token"],
      /could not upload the Worker/,
    ],
    [
      "an address that cannot be stored",
      "PATCH /workers/scripts/drover/secrets-bulk",
      [403, 10000, "Authentication error"],
      /could not tell the Worker its address.*Workers Scripts \(edit\)/s,
    ],
  ];
  test.each(FAULTS)("%s", async (_what, request, [status, code, message], says) => {
    at.account.fault = (name) => (name === request ? { status, code, message } : undefined);
    const failed = await deploy();
    expect(said(failed)).toMatch(/^125\n/);
    expect(failed.stderr).toMatch(says);
    expect(failed.stderr).toContain("The same command goes on from there.");
    at.account.fault = () => undefined;
    const made = existsSync(recordFile()) ? secretsHere() : {};
    expect((await deploy()).code).toBe(0);
    expect(secretsThere()).toMatchObject(made);
  });

  test("a bucket that somebody else has made meanwhile is the bucket", async () => {
    at.account.carriedOut = (name) => {
      if (name === "GET /r2/buckets") at.account.buckets.add("drover-logs");
    };
    expect(said(await deploy())).toMatch(/^0\n/);
  });
});

test("a package without its own wrangler has npm fetch the version that it was tested with", async () => {
  const folder = mkdtempSync(join(at.home, "package-"));
  const command = await packageOf("0.1.0", folder);
  const [bin, asked] = [join(folder, "bin"), join(folder, "asked")];
  mkdirSync(bin);
  // Node finds a wrangler of another version, as it does a global one.
  mkdirSync(join(folder, "node_modules/wrangler"), { recursive: true });
  const other = { version: "4.0.0", bin: { wrangler: "bin/wrangler.js" } };
  writeFileSync(join(folder, "node_modules/wrangler/package.json"), JSON.stringify(other));
  // It stands for npm's, and runs the wrangler of this checkout.
  const npx = `#!/bin/sh\necho "$1 $2" >"${asked}"\nshift 2\nexec "${process.execPath}" "${WRANGLER}" "$@"\n`;
  writeFileSync(join(bin, "npx"), npx, { mode: 0o755 });
  const done = await at.drover(["deploy", "--yes"], { PATH: `${bin}:${process.env.PATH}` }, command);
  expect(said(done)).toMatch(/^0\n/);
  expect(readFileSync(asked, "utf8").trim()).toBe(`--yes wrangler@${wranglerVersion}`);
  rmSync(folder, { recursive: true, force: true });
});

describe("what is not a deployment's own is left alone (deploy.md#upgrade)", () => {
  test("another Worker of that name", async () => {
    const other = { script: "", bindings: [], secrets: new Map(), domains: [], versions: ["v1"], crons: [] };
    at.account.workers.set("drover", other);
    expect(said(await deploy())).toMatch(/^125\n.*it is not a Drover.*--name build/s);
    expect(at.account.requests.filter((one) => /^(?:PUT|POST|PATCH)/.test(one))).toEqual([]);
  });

  test("a control plane whose token nobody has here: its secrets stay", async () => {
    await deploy();
    const before = secretsThere();
    rmSync(join(at.home, ".config"), { recursive: true });
    const refused = await deploy();
    expect(said(refused)).toMatch(/^125\n.*nothing here has a token that it accepts/s);
    expect(refused.stderr).toContain("drover login <url>");
    expect(secretsThere()).toEqual(before);
    const env = { DROVER_URL: before.DROVER_URL ?? "", DROVER_TOKEN: before.DROVER_ADMIN_TOKEN ?? "" };
    expect(said(await at.drover(["deploy", "--yes"], env))).toMatch(/^0\n/);
    expect(said(await deploy())).toMatch(/^0\n/);
    expect(secretsThere()).toEqual(before);
    // Four deployments take minutes on a busy machine.
  }, 600_000);

  test("a Drover of another account that has the same name: no secret changes", async () => {
    await deploy();
    const there = at.account.workers.get("drover");
    // It answers as if it were that one.
    const other = "https://drover.other.workers.dev";
    there?.domains.push("drover.other.workers.dev");
    there?.secrets.set("DROVER_URL", other);
    await at.account.edge.run("drover", {
      ...{ script: there?.script ?? "", hasBucket: true },
      vars: secretsThere(),
    });
    rmSync(join(at.home, ".config"), { recursive: true });
    const before = secretsThere();
    const env = { DROVER_URL: other, DROVER_TOKEN: before.DROVER_ADMIN_TOKEN ?? "" };
    // Its own bucket is unknown here, so the person names one.
    const stopped = await at.drover(["deploy", "--yes", "--bucket", "drover-logs"], env);
    expect(said(stopped)).toMatch(
      /^125\n.*uploaded to https:\/\/drover\.acme\.workers\.dev, and the Drover that/s,
    );
    expect(secretsThere()).toEqual(before);
    expect(existsSync(join(at.home, ".config/drover/config"))).toBe(false);
  });

  test("its bucket, whatever it is called, also where nothing of it is known", async () => {
    const bound = () => at.account.workers.get("drover")?.bindings.find(({ name }) => name === "LOGS");
    await deploy("--bucket", "acme-logs");
    expect(said(await deploy())).toMatch(/^0\n/);
    const refused = await deploy("--bucket", "other");
    expect(said(refused)).toMatch(/^125\n.*This Drover has the bucket acme-logs/s);
    const env = {
      DROVER_URL: secretsThere().DROVER_URL ?? "",
      DROVER_TOKEN: secretsThere().DROVER_ADMIN_TOKEN ?? "",
    };
    rmSync(join(at.home, ".config"), { recursive: true });
    expect(said(await at.drover(["deploy", "--yes"], env))).toMatch(/^0\n/);
    expect(bound()).toMatchObject({ bucket_name: "acme-logs" });
    expect([...at.account.buckets]).toEqual(["acme-logs"]);
    // Three deployments take minutes on a busy machine.
  }, 600_000);

  test("a Drover that the environment names and the account has not: none is made", async () => {
    await deploy();
    const env = {
      DROVER_URL: secretsThere().DROVER_URL ?? "",
      DROVER_TOKEN: secretsThere().DROVER_ADMIN_TOKEN ?? "",
    };
    const refused = await at.drover(["deploy", "--yes", "--name", "drovr"], env);
    expect(said(refused)).toMatch(/^125\n.*DROVER_URL names .*there is no Worker drovr in this account/s);
    const unknown = await at.drover(["--context", "nonesuch", "deploy", "--yes"]);
    expect(said(unknown)).toMatch(/^125\n.*There is no context `nonesuch`/s);
    expect([...at.account.workers.keys()]).toEqual(["drover"]);
  });

  test("its bucket, and a record that is damaged", async () => {
    await deploy();
    expect(said(await deploy("--no-bucket"))).toMatch(/^125\n.*This Drover has a bucket/s);
    const kept = readFileSync(recordFile());
    writeFileSync(recordFile(), "{", { mode: 0o600 });
    expect(said(await deploy())).toMatch(/^125\n.*It may have the only copy of the secrets/s);
    expect(readFileSync(recordFile(), "utf8")).toBe("{");
    writeFileSync(recordFile(), kept);
    expect((await deploy("--no-backup")).code).toBe(0);
  });

  test("the account, if there are several: it asks for one by name", async () => {
    at.account.accounts.unshift({ id: "f".repeat(32), name: "Other" });
    const refused = await deploy("--dry-run");
    expect(said(refused)).toMatch(/^125\n.*several accounts.*--account: Other \(f+\), Acme/s);
    expect(said(await deploy("--dry-run", "--account", "Acme"))).toMatch(/^0\n.*in the account Acme/s);
    at.account.accounts.shift();
  });

  test("somebody who is not logged in, and no secret is left in a temporary directory", async () => {
    const out = await at.drover(["deploy", "--yes"], { CLOUDFLARE_API_TOKEN: "" });
    expect(said(out)).toMatch(/^125\n.*Nobody is logged in to Cloudflare.*npx wrangler login/s);
    const own = join(at.home, "tmp");
    mkdirSync(own);
    expect((await at.drover(["deploy", "--yes"], { TMPDIR: own })).code).toBe(0);
    expect(readdirSync(own).filter((name) => name.startsWith("drover-deploy"))).toEqual([]);
  });

  test("without a bucket: the Worker goes without one, and stays so", async () => {
    expect(said(await deploy("--no-bucket"))).toMatch(/^0\n.*go without a bucket/s);
    expect([...at.account.buckets]).toEqual([]);
    expect((await deploy()).stdout).toContain("go without a bucket");
  });
});
