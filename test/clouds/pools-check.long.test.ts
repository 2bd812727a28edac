import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { judgeEc2 } from "../../cli/pool-check/clouds/ec2.ts";
import type { Ec2Facts } from "../../cli/pool-check/clouds/ec2-facts.ts";
import type { Finding } from "../../cli/pool-check/finding.ts";
import { Ec2Config } from "../../src/schema/pool/providers/clouds.ts";
import { PutPoolConfig } from "../../src/schema/pool.ts";
import { type Bench, openBench } from "../cli/support/command.ts";
import { json } from "../cli/support/control-plane.ts";
import { fault } from "./fly-fake.ts";
import { made, providerOf } from "./support/ec2.ts";
import {
  ON_FAKES,
  type PoolOnFake,
  poolOnEc2,
  poolOnFly,
  poolOnGce,
  poolOnHetzner,
} from "./support/pools.ts";

// `drover pools check` asks each cloud about a pool, and changes nothing there (clouds.md#checks).

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

interface Checked {
  code: number | null;
  stderr: string;
  findings: Finding[];
  bill?: { worstPerHour: number | null; bounds: string };
}

/** Runs the command on a file with the pool. */
async function check(pool: object, credentials: string): Promise<Checked> {
  const dir = mkdtempSync(join(bench.dir, "check-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const [file, key] = [join(dir, "pool.json"), join(dir, "key")];
  writeFileSync(file, JSON.stringify(pool));
  writeFileSync(key, credentials);
  const { code, stdout, stderr } = await bench.run([
    ...["pools", "check", "-f", file, "--credentials", key, "--json"],
  ]);
  const report = stdout.length === 0 ? { findings: [] } : JSON.parse(stdout.toString());
  return { code, stderr, ...report };
}

/** Runs the command on a pool that is right but for these changes. */
function checkChanged({ pool, credentials }: PoolOnFake<unknown>, changes: object): Promise<Checked> {
  return check({ ...pool, ...changes }, credentials);
}

const missingOf = ({ findings }: Checked) =>
  findings.filter(({ verdict }) => verdict === "missing").map(({ check: name }) => name);
const findingOf = ({ findings }: Checked, name: string) => findings.find(({ check: one }) => one === name);

describe.each(ON_FAKES)("a pool on $kind", ({ start }) => {
  test("that is right lacks nothing, and nothing was made or changed (clouds.md#checks)", async () => {
    const fake = await start();
    const checked = await checkChanged(fake, {});
    expect(missingOf(checked), JSON.stringify(checked.findings)).toEqual([]);
    expect(checked).toMatchObject({ code: 0, bill: { worstPerHour: expect.any(Number) } });
    expect(findingOf(checked, "credentials")).toMatchObject({ verdict: "ok" });
    const harmless = /^DELETE \/v1\/servers\/0$|testIamPermissions$/;
    expect(fake.changes().filter((call) => !harmless.test(call))).toEqual([]);
  });

  test("with wrong credentials is refused for them, and they are not shown", async () => {
    const { pool, wrong } = await start();
    const checked = await check(pool, wrong);
    expect([checked.code, missingOf(checked)]).toEqual([1, ["credentials"]]);
    expect(findingOf(checked, "credentials")?.todo).toMatch(/^Make /);
    expect(JSON.stringify(checked)).not.toContain(wrong);
  });

  test("with credentials of another form is refused before the cloud is asked", async () => {
    const { pool } = await start();
    const checked = await check(pool, "\u0007");
    expect([checked.code, missingOf(checked)]).toEqual([1, ["credentials"]]);
  });

  test("with a tag or a name that the cloud does not take breaks the rules (clouds.md#names)", async () => {
    const { pool, credentials } = await start();
    const tagged = await check({ ...pool, tags: { "drover-mine": "x" } }, credentials);
    expect(tagged).toMatchObject({ code: 1, findings: [{ check: "configuration", verdict: "missing" }] });
    const named = await check({ ...pool, name: "ci-" }, credentials);
    expect(named.findings).toMatchObject([
      { evidence: expect.stringMatching(/^\/name: .* end with a letter/) },
    ]);
  });

  test("whose type has less than the pool counts on is refused", async () => {
    const { pool, credentials } = await start();
    const [[name = "", type] = []] = Object.entries(pool.instanceTypes);
    const checked = await check({ ...pool, instanceTypes: { [name]: { ...type, vcpus: 16 } } }, credentials);
    expect([checked.code, missingOf(checked)]).toEqual([1, [`type ${name}`]]);
    expect(findingOf(checked, `type ${name}`)?.evidence).toContain("vcpus is 16");
  });
});

describe("Hetzner", () => {
  test.each<[string, { provider?: object; image?: string }, string, string]>([
    ["a location", { provider: { locations: ["mars1"] } }, "locations", "Set `locations` to some of: fsn1"],
    ["an image", { image: "ubuntu-99.04" }, "image", "hcloud image list"],
    [
      "an SSH key",
      { provider: { sshKeys: ["nobodys"] } },
      "SSH keys",
      "hcloud ssh-key create --name nobodys",
    ],
    ["a network", { provider: { networks: [18] } }, "network 18", "docs/clouds/hetzner.md"],
  ])("%s that does not exist is missing, and it says what to do", async (_what, changes, name, todo) => {
    const fake = await poolOnHetzner();
    const provider = { ...fake.pool.provider, ...changes.provider };
    const checked = await checkChanged(fake, { ...changes, provider });
    expect(checked.code).toBe(1);
    expect(missingOf(checked)).toContain(name);
    expect(findingOf(checked, name)?.todo).toContain(todo);
  });

  test("a type that does not exist is missing, and one that is nowhere to be had", async () => {
    const fake = await poolOnHetzner();
    const unknown = { cx99: { vcpus: 2, memory: "4GiB" } };
    const checked = await checkChanged(fake, { instanceTypes: unknown });
    expect(findingOf(checked, "type cx99")).toMatchObject({
      verdict: "missing",
      todo: "Set `providerType` to one that exists: cx22, cpx31, cax11",
    });
    const arm = { cax11: { vcpus: 2, memory: "4GiB", arch: "arm64", zones: ["nbg1"] } };
    const elsewhere = await checkChanged(fake, { instanceTypes: arm });
    expect(findingOf(elsewhere, "type cax11")?.evidence).toBe("cax11 is not offered at nbg1");
    expect(findingOf(elsewhere, "image")?.evidence).toBe("ubuntu-24.04 is not there for arm64");
    const priced = { cx22: { vcpus: 2, memory: "4GiB", price: 0.004 } };
    expect(findingOf(await checkChanged(fake, { instanceTypes: priced }), "type cx22")).toMatchObject({
      verdict: "ok",
      evidence: "2 vCPUs, 4 GiB, 0.006 an hour without VAT",
      todo: "",
    });
  });

  test("a token that may only read is missing the permission to write", async () => {
    const fake = await poolOnHetzner();
    fake.cloud.isReadOnly = true;
    const checked = await checkChanged(fake, {});
    expect([checked.code, missingOf(checked)]).toEqual([1, ["permission to write"]]);
  });

  test("without a key it is said that Hetzner sends an e-mail for each machine (case 68)", async () => {
    const fake = await poolOnHetzner();
    const checked = await checkChanged(fake, { provider: { ...fake.pool.provider, sshKeys: [] } });
    expect(findingOf(checked, "SSH keys")).toMatchObject({
      verdict: "ok",
      todo: expect.stringMatching(/ssh-key/),
    });
  });
});

describe("EC2", () => {
  test.each([
    ["RunInstances", "make m7i-large", "ec2:RunInstances"],
    ["CreateTags", "make m7i-large", "ec2:CreateTags"],
    ["DescribeInstances", "ec2:DescribeInstances", "ec2:DescribeInstances"],
  ])("the missing permission for %s is named", async (denied, name, action) => {
    const fake = await poolOnEc2();
    fake.cloud.faults.denied.add(denied);
    const checked = await checkChanged(fake, {});
    expect(checked.code).toBe(1);
    expect(findingOf(checked, name)).toMatchObject({
      verdict: "missing",
      evidence: `${action} is not permitted`,
      todo: `Allow ${action} in the policy of these keys: docs/clouds/ec2.md has the whole policy`,
    });
  });

  test("the permission to end machines is tried with one of the pool, if there is one", async () => {
    const fake = await poolOnEc2();
    const without = await checkChanged(fake, {});
    expect(findingOf(without, "ec2:TerminateInstances")).toMatchObject({ verdict: "unknown" });
    expect(without.code).toBe(0);
    await made(providerOf(fake), "w-1");
    const withOne = await checkChanged(fake, { name: "p" });
    expect(findingOf(withOne, "ec2:TerminateInstances")).toMatchObject({ verdict: "ok" });
    fake.cloud.faults.denied.add("TerminateInstances");
    expect(missingOf(await checkChanged(fake, { name: "p" }))).toEqual(["ec2:TerminateInstances"]);
    expect(fake.cloud.living).toHaveLength(1);
  });

  test("what only a check reads need not be permitted", async () => {
    const fake = await poolOnEc2();
    for (const action of ["DescribeInstanceTypes", "DescribeInstanceTypeOfferings", "DescribeImages"])
      fake.cloud.faults.denied.add(action);
    const checked = await checkChanged(fake, {});
    expect([checked.code, missingOf(checked)]).toEqual([0, []]);
    expect(findingOf(checked, "type m7i-large")).toMatchObject({
      verdict: "unknown",
      evidence: "ec2:DescribeInstanceTypes is not permitted",
    });
  });

  test("another region is not that of the keys' service", async () => {
    const fake = await poolOnEc2();
    const provider = { ...fake.pool.provider, region: "us-west-2" };
    const checked = await checkChanged(fake, { provider });
    expect([checked.code, missingOf(checked)]).toEqual([1, ["credentials"]]);
    expect(findingOf(checked, "credentials")?.todo).toContain("correct the region");
  });

  test("an image that does not exist is missing, and one with another root device", async () => {
    const fake = await poolOnEc2();
    const none = await checkChanged(fake, { image: "ami-00000000000000000" });
    expect(findingOf(none, "image")).toMatchObject({
      verdict: "missing",
      evidence: "eu-west-1 has no image ami-00000000000000000",
    });
    const other = await checkChanged(fake, { image: "ami-0ffffffffffffffff" });
    expect(missingOf(other)).toEqual(["root device"]);
    expect(findingOf(other, "root device")?.todo).toBe("Set `rootDevice` to /dev/xvda");
  });

  test("a type that does not exist is missing, and one that no zone of the subnets has", async () => {
    const fake = await poolOnEc2();
    const [type] = Object.values(fake.pool.instanceTypes);
    const unknown = await checkChanged(fake, {
      instanceTypes: { big: { ...type, providerType: "m99.large" } },
    });
    expect(missingOf(unknown)).toContain("type big");
    const provider = { ...fake.pool.provider, subnets: { "eu-west-1a": "subnet-1111111a" } };
    const gpu = { gpu: { providerType: "g5.xlarge", vcpus: 4, memory: "16GiB" } };
    const elsewhere = await checkChanged(fake, { provider, instanceTypes: gpu });
    expect(findingOf(elsewhere, "type gpu")?.evidence).toBe("g5.xlarge is not offered at eu-west-1a");
  });

  test("a quota below the needs of all machines is missing, with the command for more", async () => {
    const fake = await poolOnEc2();
    fake.cloud.serviceQuotas["L-34B43A08"] = 2;
    const checked = await checkChanged(fake, {});
    expect(missingOf(checked)).toEqual(["quota L-34B43A08"]);
    expect(findingOf(checked, "quota L-34B43A08")).toMatchObject({
      evidence: "the pool may need 4 of 2 vCPUs of standard spot machines",
      todo: expect.stringContaining("request-service-quota-increase --region eu-west-1"),
    });
    expect(findingOf(checked, "quota L-1216C47A")).toMatchObject({ verdict: "ok" });
    fake.cloud.faults.denied.add("GetServiceQuota");
    const denied = await checkChanged(fake, {});
    expect([denied.code, missingOf(denied)]).toEqual([0, []]);
    expect(findingOf(denied, "quota L-34B43A08")).toMatchObject({
      verdict: "unknown",
      evidence: expect.stringContaining("servicequotas:GetServiceQuota is not permitted"),
    });
  });

  test("an older refusal that names no action is told apart by the same call without tags", () => {
    const text = "UnauthorizedOperation: You are not authorized to perform this operation";
    const refusal = { class: "auth", code: "UnauthorizedOperation", status: 403, text, advice: "" } as const;
    const facts: Ec2Facts = {
      machines: { data: [] },
      image: { data: null },
      types: { data: new Map() },
      offerings: { data: new Map() },
      spot: undefined,
      limits: [],
      creates: [
        { what: "a", fact: { refusal }, untagged: { data: "permitted" } },
        { what: "b", fact: { refusal }, untagged: { refusal } },
      ],
      ends: { fact: { refusal }, machine: false },
    };
    const config = PutPoolConfig.parse({
      provider: { kind: "ec2", region: "eu-west-1", credentials: { secret: "cloud" } },
      image: "ami-0a1b2c3d4e5f60718",
      instanceTypes: { a: { vcpus: 1, memory: "1GiB" } },
    });
    const provider = Ec2Config.parse({
      kind: "ec2",
      region: "eu-west-1",
      credentials: { binding: "CLOUD_A" },
    });
    const findings = judgeEc2({ name: "ci", config, provider, wanted: [] }, facts);
    expect(
      findings.filter(({ check: name }) => name.startsWith("make")).map(({ evidence }) => evidence),
    ).toEqual(["ec2:CreateTags is not permitted", "ec2:RunInstances is not permitted"]);
  });

  test("a subnet or a group that does not exist is found by the dry run", async () => {
    const fake = await poolOnEc2();
    const subnets = { "eu-west-1a": "subnet-1111111a", "eu-west-1b": "subnet-9999999b" };
    const checked = await checkChanged(fake, { provider: { ...fake.pool.provider, subnets } });
    expect(missingOf(checked)).toEqual(["make m7i-large, eu-west-1b"]);
    const provider = { ...fake.pool.provider, securityGroups: ["sg-99999999"] };
    expect(missingOf(await checkChanged(fake, { provider }))).toEqual([
      "make m7i-large",
      "make m7i-large, spot",
    ]);
  });
});

describe("Fly", () => {
  test("a call that was one too many is made again, after the pause that Fly wants", async () => {
    const fake = await poolOnFly();
    fake.cloud.faults.errors.push(fault(429, "rate limit exceeded", "resource_exhausted"));
    const checked = await checkChanged(fake, {});
    expect([checked.code, missingOf(checked)]).toEqual([0, []]);
    expect(fake.cloud.calls.map(({ status }) => status)).toEqual([429, 200, 200]);
  });

  test("an app that does not exist is missing, with the command that makes it", async () => {
    const fake = await poolOnFly();
    const checked = await checkChanged(fake, { provider: { ...fake.pool.provider, app: "nobodys" } });
    expect([checked.code, missingOf(checked)]).toEqual([1, ["app"]]);
    expect(findingOf(checked, "app")?.todo).toContain("fly apps create nobodys");
  });

  test("a region and a size that do not exist are missing, and memory that a size cannot have", async () => {
    const fake = await poolOnFly();
    const provider = { ...fake.pool.provider, regions: ["xyz"] };
    const checked = await checkChanged(fake, {
      provider,
      instanceTypes: {
        odd: { providerType: "shared-cpu-3x", vcpus: 2, memory: "1GiB" },
        large: { providerType: "shared-cpu-2x", vcpus: 2, memory: "8GiB" },
      },
    });
    expect(missingOf(checked)).toEqual(["regions", "type odd", "type large"]);
    expect(findingOf(checked, "type large")?.evidence).toContain("may have 0.5 GiB to 4 GiB");
  });
});

describe("Google", () => {
  test.each([
    ["a zone", { zones: ["europe-west9-x"] }, {}, "zones"],
    ["an image", {}, { image: "projects/debian-cloud/global/images/family/debian-99" }, "image"],
    ["a subnetwork", { subnetwork: "regions/europe-west1/subnetworks/no" }, {}, "subnetwork"],
    ["a network", { network: "global/networks/no" }, {}, "network"],
  ])("%s that does not exist is missing", async (_what, provider, rest, name) => {
    const fake = await poolOnGce();
    const checked = await checkChanged(fake, { ...rest, provider: { ...fake.pool.provider, ...provider } });
    expect(checked.code).toBe(1);
    expect(findingOf(checked, name)).toMatchObject({
      verdict: "missing",
      todo: expect.stringMatching(/ one of: gcloud | some of: gcloud /),
    });
  });

  test("a permission that the account lacks is named, with the command that gives it", async () => {
    const fake = await poolOnGce();
    fake.cloud.denied.add("compute.disks.create");
    const checked = await checkChanged(fake, {});
    expect(missingOf(checked)).toEqual(["permissions"]);
    expect(findingOf(checked, "permissions")?.todo).toBe(
      "Run: gcloud iam roles update drover --project drover-ci --add-permissions compute.disks.create",
    );
  });

  test("what only a check reads need not be permitted", async () => {
    const fake = await poolOnGce();
    for (const kind of ["zones", "machineTypes", "regions", "networks"])
      fake.cloud.denied.add(`compute.${kind}.get`);
    const checked = await checkChanged(fake, {});
    expect([checked.code, missingOf(checked)]).toEqual([0, []]);
  });

  test("a type that one zone has is right, and the other zone is named", async () => {
    const fake = await poolOnGce();
    const instanceTypes = { "c3-standard-4": { vcpus: 4, memory: "16GiB", price: 0.2 } };
    const checked = await checkChanged(fake, { instanceTypes });
    expect(findingOf(checked, "type c3-standard-4")).toMatchObject({
      verdict: "ok",
      evidence: "4 vCPUs, 16 GiB; not offered at europe-west1-c",
    });
  });

  test("a quota below the needs of all machines is missing, and one in use is unknown", async () => {
    const fake = await poolOnGce();
    const instanceTypes = { "c3-standard-4": { vcpus: 4, memory: "16GiB", price: 0.2 } };
    const checked = await checkChanged(fake, { instanceTypes, maxInstances: 3 });
    expect(findingOf(checked, "quota europe-west1")).toMatchObject({
      verdict: "missing",
      evidence: "C3_CPUS 12 of 8 (0 used)",
    });
    const tight = await checkChanged(fake, { maxInstances: 8 });
    expect(findingOf(tight, "quota europe-west1")).toMatchObject({
      verdict: "unknown",
      evidence: "IN_USE_ADDRESSES 8 of 8 (1 used)",
    });
  });
});

describe("the command", () => {
  test("checks a pool of a Drover, with credentials from standard input, and shows a table", async () => {
    const { pool, credentials } = await poolOnHetzner();
    const { name, ...config } = pool;
    bench.plane.on("GET", /^\/v1\/pools\/ci$/, (_seen, res) => json(res, 200, { name, config }), 1);
    const running = bench.start(["pools", "check", "ci", "--credentials", "-"], {
      stdio: ["pipe", "pipe", "pipe"],
    });
    running.child.stdin?.end(credentials);
    const { code, stdout } = await running.ended;
    expect(stdout.toString()).toMatch(/^CHECK +VERDICT +EVIDENCE +WHAT TO DO\nconfiguration +ok /);
    expect(stdout.toString()).toMatch(/\nWorst bill {2}0.012 an hour: 2 machines at 0.0060\nBounded by {2}/);
    expect(code).toBe(0);
  });

  test("without a pool, or without credentials, says what to give", async () => {
    const neither = await bench.run(["pools", "check"]);
    expect([neither.code, neither.stderr]).toEqual([
      125,
      expect.stringContaining("drover pools check -f pool.json"),
    ]);
    const { pool } = await poolOnHetzner();
    const file = join(bench.dir, "bare.json");
    writeFileSync(file, JSON.stringify(pool));
    const bare = await bench.run(["pools", "check", "-f", file]);
    expect([bare.code, bare.stderr]).toEqual([125, expect.stringContaining("--credentials")]);
  });

  test("a cloud that cannot be reached has said nothing, so the check does not pass", async () => {
    const { pool, credentials } = await poolOnHetzner();
    const provider = { ...pool.provider, endpoint: "http://127.0.0.1:9" };
    const checked = await check({ ...pool, provider }, credentials);
    expect(checked).toMatchObject({ code: 1, findings: [{ verdict: "ok" }, { verdict: "unknown" }] });
  });

  test("a pool without a provider needs no credentials", async () => {
    const file = join(bench.dir, "own.json");
    writeFileSync(file, JSON.stringify({ name: "own", provider: { kind: "none" } }));
    const { code, stdout } = await bench.run(["pools", "check", "-f", file]);
    expect([code, stdout.toString()]).toEqual([0, expect.stringContaining("drover enroll")]);
  });
});
