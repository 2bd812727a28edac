import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { serveCloud } from "../../local/loopback/server.ts";
import { EC2_WAY, FLY_WAY, GCE_WAY, HETZNER_WAY } from "../clouds/support/ways.ts";
import { PaperCloud } from "../local/support/paper-cloud.ts";
import { type Bench, openBench } from "./support/command.ts";

// `drover provider test` (pool.md#provider-promises): what the suite finds, for a person and for a
// script.

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

async function serve(faults: object = {}) {
  const cloud = new PaperCloud();
  const server = await serveCloud({ cloud, port: 0, secret: "s" });
  const dir = mkdtempSync(join(bench.dir, "pool-"));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
    rmSync(dir, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const headers = { authorization: "Bearer s" };
  await fetch(`${url}/faults`, { method: "PUT", headers, body: JSON.stringify(faults) });
  const file = join(dir, "pool.json");
  const instanceTypes = { small: { providerType: "t3.small", vcpus: 1, memory: "1GiB" } };
  const pool = { name: "p", provider: { kind: "http", url, secret: "s" }, instanceTypes };
  writeFileSync(file, JSON.stringify(pool));
  const alive = () => cloud.list().filter(({ state }) => state !== "terminated");
  return { cloud, file, pool, alive };
}

test("a provider that keeps its promises passes, and nothing was made", async () => {
  const { cloud, file } = await serve();
  const { code, stdout } = await bench.run(["provider", "test", "-f", file]);
  expect(stdout.toString()).toMatch(/^CHECK +VERDICT +EVIDENCE\nanswers +kept/);
  expect(stdout.toString()).not.toMatch(/broken|unclear/);
  expect(code).toBe(0);
  expect(cloud.list()).toEqual([]);
});

test("with --create one machine is made of the provider's type, and ended", async () => {
  const { cloud, file, alive } = await serve();
  const { code, stdout } = await bench.run(["provider", "test", "-f", file, "--create", "small", "--json"]);
  const report = JSON.parse(stdout.toString());
  expect(report.findings.filter(({ verdict }: { verdict: string }) => verdict !== "kept")).toEqual([]);
  expect(report).toMatchObject({ left: [], measures: { listConsistencyMs: expect.any(Number) } });
  expect(code).toBe(0);
  expect(cloud.list()).toMatchObject([{ instanceType: "t3.small" }]);
  expect(alive()).toEqual([]);
});

test.each([
  ["hetzner", HETZNER_WAY],
  ["ec2", EC2_WAY],
  ["fly", FLY_WAY],
  ["gce", GCE_WAY],
])("a pool on %s is tested with the credentials in a file, and nothing was made", async (_kind, way) => {
  const fake = await way.start({ onBoot: () => {}, onEnd: () => {} });
  const dir = mkdtempSync(join(bench.dir, "cloud-"));
  onTestFinished(() => {
    fake.stop();
    rmSync(dir, { recursive: true, force: true });
  });
  const [file, key] = [join(dir, "pool.json"), join(dir, "key")];
  const { image, instanceTypes } = way;
  const provider = { ...way.provider(fake.url), credentials: { secret: "cloud" } };
  writeFileSync(file, JSON.stringify({ name: "p", provider, image, instanceTypes }));
  writeFileSync(key, way.credentials);
  const record = join(dir, "record.json");
  const args = ["provider", "test", "-f", file, "--credentials", key, "--record", record];
  const { code, stdout, stderr } = await bench.run(args);
  expect(stdout.toString(), stderr).not.toMatch(/broken|unclear/);
  expect(stdout.toString()).toMatch(/secret +kept/);
  expect([code, fake.left()]).toEqual([0, []]);
  const recorded = readFileSync(record, "utf8");
  const secrets = way.credentials.match(/[\w+/=-]{16,}/g) ?? [way.credentials];
  expect(secrets.filter((secret) => recorded.includes(secret))).toEqual([]);

  const bare = await bench.run(["provider", "test", "-f", file]);
  expect(bare.code).not.toBe(0);
  expect(bare.stderr).toContain("--credentials");
});

test("a broken promise is told in words, and by the exit code", async () => {
  const { file } = await serve({ unvouchedListings: 1 });
  const { code, stdout } = await bench.run(["provider", "test", "-f", file]);
  expect(stdout.toString()).toMatch(
    /list-whole +broken +a listing is complete, .* does not call it complete/,
  );
  expect(code).toBe(1);
});

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)("%s ends the machine first, and exits with %i", async (signal, exitCode) => {
  const { file, cloud, alive } = await serve({ wedgedState: "pending" });
  const running = bench.start(["provider", "test", "-f", file, "--create", "small"]);
  await expect.poll(() => cloud.list().length).toBe(1);
  running.child.kill(signal);
  await running.says(/Destroying the test machine/);
  expect((await running.ended).code).toBe(exitCode);
  expect(alive()).toEqual([]);
});

test("what cannot be tested is refused before anything is asked", async () => {
  const { file, pool } = await serve();
  const unknown = await bench.run(["provider", "test", "-f", file, "--create", "large"]);
  expect(unknown.stderr).toMatch(/no instance type large.*\n.*It has: small/);
  expect(unknown.code).toBe(125);
  writeFileSync(file, JSON.stringify({ ...pool, maxInstances: -1 }));
  const wrong = await bench.run(["provider", "test", "-f", file]);
  expect(wrong.stderr).toMatch(/is not the configuration of a pool.*\n.*\/maxInstances: /);
  expect(wrong.code).toBe(125);
});

test("the secret is shown nowhere", async () => {
  const { file, pool } = await serve();
  const secret = "a-secret-that-nobody-shall-see";
  writeFileSync(file, JSON.stringify({ ...pool, provider: { ...pool.provider, secret } }));
  const { code, stdout, stderr } = await bench.run(["provider", "test", "-f", file]);
  expect(code).toBe(1);
  expect(stdout.toString() + stderr).not.toContain(secret);
});

test("a file that has only the name of a secret is refused: no Drover shows its value", async () => {
  const { file, pool } = await serve();
  const secret = { secret: "cloud" };
  writeFileSync(file, JSON.stringify({ ...pool, provider: { ...pool.provider, secret } }));
  const { code, stderr } = await bench.run(["provider", "test", "-f", file]);
  expect(code).toBe(125);
  expect(stderr).toContain('only the name of a secret, "cloud"');
});

test("a test that is recorded can be judged again, without any call", async () => {
  const { cloud, file } = await serve({ unvouchedListings: 1 });
  const record = join(bench.dir, "record.json");
  const tested = await bench.run(["provider", "test", "-f", file, "--create", "small", "--record", record]);
  const made = cloud.list().length;
  rmSync(file);
  const replayed = await bench.run(["provider", "test", "--replay", record]);
  expect([replayed.code, replayed.stdout.toString()]).toEqual([tested.code, tested.stdout.toString()]);
  expect(replayed.stdout.toString()).toMatch(/list-whole +broken/);
  expect([made, cloud.list().length]).toEqual([1, 1]);
});

test.each([
  [["--replay", "pool.json"], "is no record of a provider's test"],
  [[], "Give either --file or --replay"],
  [["-f", "pool.json", "--replay", "pool.json"], "Give either --file or --replay"],
])("what is no record is refused: %j", async (args, text) => {
  const { file } = await serve();
  const given = args.map((arg) => (arg === "pool.json" ? file : arg));
  const { code, stderr } = await bench.run(["provider", "test", ...given]);
  expect([code, stderr]).toEqual([125, expect.stringContaining(text)]);
});

// Complaint 40: taking Drover down leaves nothing.
describe("40: all machines of a pool are destroyed without a Drover", () => {
  const resources = { vcpus: 1, memoryBytes: 1, diskBytes: 0, gpus: 0 };
  const MACHINE = { instanceType: "t3.small", image: "", userData: "", resources };
  const destroyAll = (...args: string[]) => bench.run(["provider", "destroy-all", ...args]);

  async function machines(tags: string[], faults = {}) {
    const served = await serve(faults);
    for (const [nth, tag] of tags.entries()) {
      const [name = "", value = ""] = tag.split(":");
      served.cloud.create({ ...MACHINE, token: `w-${nth}`, name: `w-${nth}`, tags: { [name]: value } });
    }
    return served;
  }

  test("and those of other pools stay", async () => {
    const { file, alive } = await machines(["drover-pool:p", "drover-pool:p", "drover-pool:other"]);
    const listed = await destroyAll("-f", file);
    expect([listed.code, alive().length]).toEqual([1, 3]);
    expect(listed.stdout.toString()).toMatch(/^MACHINE .*\nw-0 .*\nw-1 /);
    expect(listed.stderr).toContain("To destroy them, add --yes");
    const { code, stdout } = await destroyAll("-f", file, "--yes");
    expect([code, stdout.toString()]).toEqual([0, "Pool p has no machines at its provider\n"]);
    expect(alive().map(({ name }) => name)).toEqual(["w-2"]);
  });

  test("also one that the first listing does not show yet", async () => {
    const { file, alive } = await machines(["drover-pool:p"], { omittingListings: 1 });
    const { code } = await destroyAll("-f", file, "--yes");
    expect([code, alive()]).toEqual([0, []]);
  });

  test("of a cloud, with its credentials", async () => {
    const fake = await HETZNER_WAY.start({ onBoot: () => {}, onEnd: () => {} });
    onTestFinished(() => fake.stop());
    const { image, instanceTypes, credentials } = HETZNER_WAY;
    const provider = { ...HETZNER_WAY.provider(fake.url), credentials: { secret: "cloud" } };
    const [file, key] = [join(bench.dir, "hetzner.json"), join(bench.dir, "hetzner.key")];
    writeFileSync(file, JSON.stringify({ name: "p", provider, image, instanceTypes }));
    writeFileSync(key, credentials);
    const headers = { authorization: `Bearer ${credentials}`, "content-type": "application/json" };
    const body = { name: "w-1", server_type: "cx22", image, labels: { "drover-pool": "p" } };
    const made = await fetch(`${fake.url}/servers`, { method: "POST", headers, body: JSON.stringify(body) });
    expect([made.status, fake.left()]).toEqual([201, ["w-1"]]);
    const { code } = await destroyAll("-f", file, "--credentials", key, "--yes");
    expect([code, fake.left()]).toEqual([0, []]);
  });

  test("with wrong credentials it says so", async () => {
    const { file, pool } = await machines(["drover-pool:p"]);
    writeFileSync(file, JSON.stringify({ ...pool, provider: { ...pool.provider, secret: "wrong" } }));
    const { code, stderr } = await destroyAll("-f", file, "--yes");
    expect(code).toBe(1);
    expect(stderr).toContain("The machines of pool p cannot be listed");
  });
});

test("`drover pools check` asks a service of one's own for its machines (clouds.md#checks)", async () => {
  const { cloud, file, pool } = await serve();
  const good = await bench.run(["pools", "check", "-f", file]);
  expect([good.code, good.stdout.toString()]).toEqual([
    0,
    expect.stringMatching(/credentials +ok +the service lists 0/),
  ]);
  writeFileSync(file, JSON.stringify({ ...pool, provider: { ...pool.provider, secret: "wrong" } }));
  const wrong = await bench.run(["pools", "check", "-f", file]);
  expect([wrong.code, wrong.stdout.toString()]).toEqual([1, expect.stringMatching(/credentials +missing /)]);
  expect(cloud.list()).toEqual([]);
});
