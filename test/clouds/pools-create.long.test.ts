import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type Bench, openBench } from "../cli/support/command.ts";
import { json, problem } from "../cli/support/control-plane.ts";
import { atTerminal, HAS_TERMINAL, NEEDS_TERMINAL } from "../cli/support/terminal.ts";
import { drover, endDrover, makeHome, type RunningDrover, startDrover } from "../edge/support/drover.ts";
import { type PoolOnFake, poolOnEc2, poolOnFly, poolOnGce, poolOnHetzner } from "./support/pools.ts";

// `drover pools create` asks the cloud before it stores anything in a Drover (clouds.md#creating).

let home: string;
let up: RunningDrover;
beforeAll(async () => {
  home = makeHome("pools-create");
  up = await startDrover(home);
});
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

/** The flags of the command that a guide shows, but for the credentials. */
function flagsOf(kind: string): string[] {
  const page = readFileSync(join(import.meta.dirname, `../../docs/clouds/${kind}.md`), "utf8");
  const [, flags = ""] = /^ *drover pools create ci ((?:.*\\\n)*.*)$/m.exec(page) ?? [];
  return flags
    .replace(/--credentials - |--yes/g, "")
    .split(/[\s\\]+/)
    .filter((flag) => flag !== "");
}

function fileWith(text: string): string {
  const dir = mkdtempSync(join(home, "key-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, "key");
  writeFileSync(file, text);
  return file;
}

/** Creates a pool on a fake without a terminal. */
async function create(
  name: string,
  kind: string,
  { url, credentials }: Pick<PoolOnFake<unknown>, "url" | "credentials">,
  more: string[] = [],
) {
  const flags = [...flagsOf(kind), "--endpoint", url];
  const args = ["pools", "create", name, "--json", "--yes", "--credentials", fileWith(credentials)];
  const { code, stdout, stderr } = await drover(home, [...args, ...flags, ...more]);
  const text = stdout.toString();
  return { code, stderr, text, ...(text === "" ? {} : JSON.parse(text)) };
}

const secrets = async (): Promise<string[]> => {
  const { items } = await up.json(200, "GET", "/v1/secrets");
  return items.map(({ name, use }: { name: string; use: string }) => `${name} for ${use}`);
};
const pools = async (): Promise<string[]> => {
  const { items } = await up.json(200, "GET", "/v1/pools");
  return items.map(({ name }: { name: string }) => name);
};

describe.each([
  { kind: "hetzner", start: poolOnHetzner as () => Promise<PoolOnFake<unknown>>, price: 0.006 },
  { kind: "ec2", start: poolOnEc2, price: 0.1008 },
  { kind: "fly", start: poolOnFly, price: 0.009 },
  { kind: "gce", start: poolOnGce, price: 0.067 },
])("on $kind", ({ kind, start, price }) => {
  test("the guide's one command stores a pool and its credentials, and shows the worst bill", async () => {
    const fake = await start();
    const created = await create(`new-${kind}`, kind, fake);
    expect(created, created.stderr + created.text).toMatchObject({ code: 0, ok: true, created: true });
    expect(created.bill.worstPerHour).toBeCloseTo(2 * price, 6);
    expect(await secrets()).toContain(`${kind}-new-${kind} for provider`);
    const { config } = await up.json(200, "GET", `/v1/pools/new-${kind}`);
    expect(config).toMatchObject({
      provider: { kind, credentials: { secret: `${kind}-new-${kind}` } },
      maxInstances: 2,
    });
    expect(created.text + created.stderr).not.toContain(fake.credentials);
    await up.call("DELETE", `/v1/pools/new-${kind}?force=true`);
  });

  test("with wrong credentials nothing is stored, and the exit code says so", async () => {
    const fake = await start();
    const before = [await secrets(), await pools()];
    const refused = await create(`bad-${kind}`, kind, { ...fake, credentials: fake.wrong });
    expect(refused, refused.stderr).toMatchObject({ code: 1, ok: false, created: false });
    const found = refused.findings.find(({ check }: { check: string }) => check === "credentials");
    expect(found).toMatchObject({ verdict: "missing", todo: expect.stringMatching(/./) });
    expect(refused.stderr).toContain("Nothing was stored");
    expect([await secrets(), await pools()]).toEqual(before);
  });

  test("a type that the cloud does not have is missing, and nothing is stored", async () => {
    const fake = await start();
    const before = [await secrets(), await pools()];
    const refused = await create(`odd-${kind}`, kind, fake, ["--type", "z9.nothing"]);
    expect(refused, refused.stderr).toMatchObject({ code: 1, created: false });
    const missing = refused.findings.filter(({ verdict }: { verdict: string }) => verdict === "missing");
    expect(missing.map(({ check }: { check: string }) => check).join()).toContain("z9");
    expect([await secrets(), await pools()]).toEqual(before);
  });
});

test("a missing permission of EC2 is named, and nothing is stored", async () => {
  const fake = await poolOnEc2();
  fake.cloud.faults.denied.add("CreateTags");
  const refused = await create("denied", "ec2", fake);
  expect(refused).toMatchObject({ code: 1, created: false });
  expect(refused.text).toContain("Allow ec2:CreateTags in the policy of these keys");
  expect(await pools()).not.toContain("denied");
});

test("spot machines of EC2 get the present price and a fallback; the root device is looked up", async () => {
  const fake = await poolOnEc2();
  const created = await create("spot", "ec2", fake, ["--image", "ami-0ffffffffffffffff"]);
  expect(created, created.text).toMatchObject({ code: 0 });
  expect(created.config).toMatchObject({
    provider: { rootDevice: "/dev/xvda" },
    instanceTypes: {
      "m7i-large": { preemptible: true, price: 0.0444, fallback: { price: 0.1008 }, memory: "8GiB" },
    },
  });
  await up.call("DELETE", "/v1/pools/spot?force=true");
});

test("a type that is on no list gets its size from the cloud, and its price by the flag", async () => {
  const fake = await poolOnGce();
  const created = await create("c3", "gce", fake, ["--type", "c3-standard-4=0.2"]);
  expect(created, created.text).toMatchObject({ code: 0, bill: { worstPerHour: 0.4 } });
  await up.call("DELETE", "/v1/pools/c3?force=true");
});

test("a pool that exists is not touched, and the verb that changes it is named", async () => {
  const fake = await poolOnHetzner();
  const before = await up.json(200, "GET", "/v1/pools/default");
  const refused = await create("default", "hetzner", fake);
  expect([refused.code, refused.text]).toEqual([125, ""]);
  expect(refused.stderr).toContain(
    "There is a pool default already.\n  Change it: drover pools edit default",
  );
  expect((await up.json(200, "GET", "/v1/pools/default")).config).toEqual(before.config);
  expect(fake.cloud.calls).toEqual([]);
});

test("a secret that exists keeps its value: another pool may use it", async () => {
  await up.json(200, "PUT", "/v1/secrets/shared", { value: "mine", use: "provider" });
  const fake = await poolOnHetzner();
  const refused = await create("other", "hetzner", fake, ["--secret", "shared"]);
  expect(refused).toMatchObject({ code: 1, created: false });
  expect(refused.text).toContain("drover secrets rm shared");
  expect(await pools()).not.toContain("other");
});

test("without a terminal all missing flags are listed at once", async () => {
  const some = await drover(home, ["pools", "create", "x", "--cloud", "gce", "--image", "i"]);
  expect(some.code).toBe(125);
  expect(some.stderr).toContain(
    "Add: --credentials <path> --project-id <id> --zone <zone> --type <type> --max <number> --yes\n",
  );
  const all = await drover(home, ["pools", "create", "x"]);
  expect(all.stderr).toContain(
    "Add: --cloud <kind> --credentials <path> --type <type> --image <image> --max <number> --yes\n",
  );
  expect(all.stderr).toContain("drover apply --name x -f pool.json");
});

test("a pool for machines of one's own needs no credentials", async () => {
  const { code, stdout } = await drover(home, ["pools", "create", "own", "--cloud", "none", "--yes"]);
  expect([code, stdout.toString()]).toEqual([0, expect.stringContaining("drover enroll")]);
  expect((await up.json(200, "GET", "/v1/pools/own")).config.provider).toEqual({ kind: "none" });
});

describe("a Drover that refuses the pool", () => {
  const answers = (bench: Bench, status: number, code: string) => {
    const { plane } = bench;
    plane.on("GET", /^\/v1\/pools\/new$/, (_seen, res) => problem(res, 404, "unknown_pool"));
    plane.on("GET", /^\/v1\/secrets$/, (_seen, res) => json(res, 200, { items: [], wrappingKeys: [] }));
    plane.on("PUT", /^\/v1\/secrets\//, (_seen, res) => json(res, 200, { name: "s", warnings: [] }));
    plane.on("DELETE", /^\/v1\/secrets\//, (_seen, res) => res.writeHead(204).end());
    plane.on("PUT", /^\/v1\/pools\/new$/, (_seen, res) => problem(res, status, code));
  };

  test.each([
    ["is left without the secret, too", 403, "forbidden", ["PUT", "DELETE"]],
    ["and may have stored it keeps the secret, which the pool may need", 500, "internal", ["PUT"]],
  ])("%s", async (_what, status, code, methods) => {
    const bench = await openBench();
    onTestFinished(() => bench.close());
    answers(bench, status, code);
    const { url, credentials } = await poolOnHetzner();
    const flags = ["--endpoint", url, "--credentials", fileWith(credentials), ...flagsOf("hetzner"), "--yes"];
    const { code: exit, stderr } = await bench.run(["pools", "create", "new", ...flags]);
    expect([exit, stderr]).toEqual([125, expect.stringContaining(`it is ${code}`)]);
    const ofSecret = bench.plane.seen.filter(({ path }) => path === "/v1/secrets/hetzner-new");
    expect(ofSecret.map(({ method }) => method)).toEqual(methods);
    expect(ofSecret[0]?.body).toEqual({ value: credentials, use: "provider" });
  });
});

describe("at a terminal", () => {
  const command = [process.execPath, join(import.meta.dirname, "../../bin/drover.mjs")];

  test("everything is asked, types are shown with prices, and the answer decides", async ({ skip }) => {
    if (!HAS_TERMINAL) skip(NEEDS_TERMINAL);
    const { url, credentials } = await poolOnHetzner();
    const key = fileWith(credentials);
    const args = [...command, "pools", "create", "asked", "--endpoint", url];
    const terminal = atTerminal(args, home, { PATH: process.env.PATH, HOME: home });
    await terminal.says(/Cloud \(hetzner, .*\): /);
    terminal.type("hetzmer\r");
    await terminal.says(/It must be one of: hetzner/);
    terminal.type("hetzner\r");
    await terminal.says(/File with the credentials: /);
    terminal.type("nowhere.txt\r");
    await terminal.says(/Cannot read nowhere.txt: /);
    await terminal.says(/File with the credentials: /);
    terminal.type(`~/${relative(home, key)}\r`);
    await terminal.says(/Locations, best first; empty: the cloud chooses: /);
    terminal.type("fsn1\r");
    await terminal.says(/TYPE +VCPUS +MEMORY +DISK +ARCH +AN HOUR\r\ncax11 .*0.0058\r\ncx22 .*0.006\r\n/);
    await terminal.says(/Machine types, separated by blanks: /);
    terminal.type("cx22 cpx31\r");
    await terminal.says(/Image of the machines \[ubuntu-24.04\]: /);
    terminal.type("\r");
    await terminal.says(/At most how many machines at once \[2\]: /);
    terminal.type("3\r");
    await terminal.says(/Worst bill +0.066 an hour: 3 machines at 0.022/);
    await terminal.says(/Store the credentials, and create the pool asked\? \[n\/y\]: /);
    terminal.type("y\r");
    expect(await terminal.ended).toMatchObject({ code: 0 });
    const { config } = await up.json(200, "GET", "/v1/pools/asked");
    expect(config).toMatchObject({
      provider: { kind: "hetzner", locations: ["fsn1"] },
      image: "ubuntu-24.04",
      instanceTypes: { cx22: { vcpus: 2, memory: "4GiB", disk: "40GiB", price: 0.006 }, cpx31: {} },
      maxInstances: 3,
    });
  });

  test.each([
    ["n", "n\r", 1],
    ["Ctrl-C", "\u0003", 130],
    ["Ctrl-D", "\u0004", 130],
  ])("%s stores nothing", async (_key, typed, code) => {
    const { url, credentials } = await poolOnFly();
    const flags = ["--endpoint", url, "--credentials", fileWith(credentials), ...flagsOf("fly")];
    const args = [...command, "pools", "create", "refused", ...flags];
    const terminal = atTerminal(args, home, { PATH: process.env.PATH, HOME: home });
    await terminal.says(/create the pool refused\? \[n\/y\]: /);
    terminal.type(typed);
    const ended = await terminal.ended;
    expect(ended).toMatchObject({ code });
    expect(ended.screen).toContain("Nothing was stored.");
    expect(await pools()).not.toContain("refused");
    expect(await secrets()).not.toContain("fly-refused for provider");
  });
});
