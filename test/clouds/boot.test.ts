import { execFileSync, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { NODE_BUILDS, type NodeBuilds } from "../../src/objects/host/node-builds.ts";
import { userDataScript } from "../../src/objects/host/user-data.ts";
import { readBootRecord } from "../../src/probes/boot-record.ts";
import { TRAITS } from "../../src/shared/cloud/kinds.ts";

// The user data of a machine, run here on a path that has no Node (clouds.md#booting). Node comes from a
// mirror on this computer, and the agent is a program that writes down how it was called.

const AGENT = `
import { writeFileSync } from "node:fs";
writeFileSync(process.env.OUT, JSON.stringify({ args: process.argv.slice(2) }));
`;
const TOOLS = ["sh", "cat", "mkdir", "mv", "rm", "sleep", "tail", "tar", "gzip", "sha256sum"];

const TOKEN = "drvb_w1.1.y";

let dir: string;
let server: Server;
let url: string;
/** What the mirror gives, by path. */
let files: Map<string, Buffer>;
let asked: string[];
/** The records of the boot that the control plane got, and the status that it answers with. */
let records: { token: string | undefined; text: string }[];
let status: () => number;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "boot-"));
  files = new Map([["/agent/drover-agent.mjs", Buffer.from(AGENT)]]);
  asked = [];
  records = [];
  status = () => 204;
  server = createServer((request, response) => {
    const { url: path = "", headers } = request;
    if (path === "/v1/hosts/boot") {
      let text = "";
      request.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
      });
      request.on("end", () => {
        response.writeHead(status()).end();
        records.push({ token: headers.authorization, text });
      });
      return;
    }
    asked.push(path);
    const file = files.get(path);
    response.writeHead(file === undefined ? 404 : 200).end(file);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  mkdirSync(join(dir, "bin"));
  for (const tool of TOOLS) useTool(tool);
  program("uname", "echo x86_64");
});
afterEach(() => {
  server.close();
  rmSync(dir, { recursive: true, force: true });
});

const whereIs = (tool: string) =>
  spawnSync("sh", ["-c", `command -v ${tool}`], { encoding: "utf8" }).stdout.trim();
/** Not by a link: a test that replaces the tool would follow it. */
const useTool = (tool: string) => program(tool, `exec ${whereIs(tool)} "$@"`);

/** A program of the machine. */
function program(name: string, text: string): void {
  const path = join(dir, "bin", name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
}

/** The archives of Node for a processor: `node` in them says whose it is, and how it was packed. */
function build(name: string): { name: string; xz: string; gz: string } {
  const pack = (end: string, flag: string) => {
    const root = mkdtempSync(join(dir, "archive-"));
    mkdirSync(join(root, name, "bin"), { recursive: true });
    const node = join(root, name, "bin", "node");
    writeFileSync(node, `#!/bin/sh\necho ${name}.${end} >> ${dir}/nodes\nexec ${process.execPath} "$@"\n`);
    chmodSync(node, 0o755);
    const archive = execFileSync("tar", [flag, "-C", root, name]);
    files.set(`/${name}.tar.${end}`, archive);
    return createHash("sha256").update(archive).digest("hex");
  };
  return { name, xz: pack("xz", "-cJ"), gz: pack("gz", "-cz") };
}

const builds = (): NodeBuilds => ({ url, x64: build("x64"), arm64: build("arm64") });
/** The steps of the longest record: their names, and what they say. */
const steps = () =>
  records
    .map(({ text }) => readBootRecord(text)?.steps ?? [])
    .reduce((longest, one) => (one.length > longest.length ? one : longest), [])
    .map(({ step, text }) => `${step}: ${text}`);
const fetched = () => asked.filter((path) => path.includes(".tar."));

/** Boots a machine. Resolves with how its script ended, and with what the agent was called with. */
async function boot(node = builds()) {
  const agentSha256 = createHash("sha256").update(AGENT).digest("hex");
  const script = userDataScript({ url, code: "drvc_w1.1.x", boot: TOKEN, agentSha256, node });
  const out = join(dir, "out");
  const env = { PATH: join(dir, "bin"), DROVER_STATE_DIR: join(dir, "state"), OUT: out };
  const child = spawn(join(dir, "bin", "sh"), ["-c", script], { env });
  let said = "";
  child.stderr.on("data", (chunk) => {
    said += chunk;
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  const called = existsSync(out) ? JSON.parse(readFileSync(out, "utf8")).args : undefined;
  const nodes = join(dir, "nodes");
  const used = existsSync(nodes) ? readFileSync(nodes, "utf8").trim().split("\n")[0] : "the machine's own";
  return { code, said, called, used };
}

describe("case 65: a machine without Node", () => {
  test.for(["curl", "wget"])("fetches it with %s, and runs the agent with it", async (tool, { skip }) => {
    if (whereIs(tool) === "") skip(`${tool} is not installed`);
    useTool(tool);
    const { code, called, used } = await boot();
    expect([code, used]).toEqual([0, "x64.gz"]);
    expect(called).toEqual(expect.arrayContaining(["--url", url]));
    expect(asked).toEqual(["/x64.tar.gz", "/agent/drover-agent.mjs"]);
  });

  test("fetches the smaller archive where there is `xz`", async ({ skip }) => {
    if (whereIs("xz") === "") skip("xz is not installed");
    useTool("curl");
    useTool("xz");
    expect((await boot()).used).toBe("x64.xz");
  });

  test("fetches that of its processor", async () => {
    useTool("curl");
    program("uname", "echo aarch64");
    expect((await boot()).used).toBe("arm64.gz");
  });

  test("keeps it for its next boot", async () => {
    useTool("curl");
    const node = builds();
    await boot(node);
    await boot(node);
    expect(fetched()).toEqual(["/x64.tar.gz"]);
  });

  test("never runs one with another digest, and tries again", async () => {
    useTool("curl");
    const node = builds();
    const right = files.get("/x64.tar.gz") ?? Buffer.of();
    files.set("/x64.tar.gz", Buffer.concat([right, Buffer.from("more")]));
    program("sleep", ":");
    // After the first answer the mirror has the right file.
    server.on("request", ({ url: path }) => {
      if (path === "/x64.tar.gz") files.set(path, right);
    });
    const { code, said, used } = await boot(node);
    expect([code, used]).toEqual([0, "x64.gz"]);
    // In turns from nodejs.org and from this Drover's bucket, which is empty.
    expect(fetched()).toEqual(["/x64.tar.gz", "/node/x64.tar.gz", "/x64.tar.gz"]);
    expect(said).toContain(
      `cannot fetch Node from ${url}/x64.tar.gz, or its digest is wrong; trying again in 1 s`,
    );
  });

  test("says so if there is nothing to fetch it with, or no Node for its processor", async () => {
    const bare = await boot();
    expect([bare.code, bare.called]).toEqual([1, undefined]);
    expect(bare.said).toContain("no Node 20, and neither curl nor wget to fetch it");
    useTool("curl");
    program("uname", "echo riscv64");
    expect((await boot()).said).toContain("there is none for riscv64");
  });
});

test("a machine that nodejs.org does not answer fetches Node from the bucket of its Drover", async () => {
  useTool("curl");
  program("sleep", ":");
  const node = builds();
  files.set("/node/x64.tar.gz", files.get("/x64.tar.gz") ?? Buffer.of());
  files.delete("/x64.tar.gz");
  const { code, used } = await boot(node);
  expect([code, used]).toEqual([0, "x64.gz"]);
});

// clouds.md#boot-record
describe("the record of a boot", () => {
  const told = [
    "begin: its script has begun, on x86_64",
    expect.stringMatching(/^node: fetches Node from http.*x64\.tar\.gz$/),
    expect.stringMatching(/^agent: fetches the agent, with Node v\d+/),
    "start: starts the agent",
  ];
  const waitFor = (last: string) => vi.waitFor(() => expect(steps().at(-1)).toContain(last), 10_000);

  test.for(["curl", "wget"])(
    "is sent with %s, with each step, and with its token",
    async (tool, { skip }) => {
      if (whereIs(tool) === "") skip(`${tool} is not installed`);
      useTool(tool);
      await boot();
      await waitFor("start: starts the agent");
      expect(steps()).toEqual(told);
      expect(new Set(records.map(({ token }) => token))).toEqual(new Set([`Bearer ${TOKEN}`]));
    },
  );

  test("is sent with Node, where there is nothing else", async () => {
    program("node", `exec ${process.execPath} "$@"`);
    await boot();
    await waitFor("start: starts the agent");
    expect(steps()).toEqual([told[0], told[2], told[3]]);
  });

  test("has the steps whose reports were lost, and a boot goes on without a control plane", async () => {
    useTool("curl");
    program("sleep", ":");
    let calls = 0;
    status = () => (++calls < 3 ? 503 : 204);
    expect((await boot()).called).toBeDefined();
    await vi.waitFor(() => expect(steps()).toEqual(told), 10_000);
  });

  test("says that the boot has failed, with the last errors, until somebody has heard it", async () => {
    useTool("curl");
    program("sleep", ":");
    program("uname", "echo riscv64");
    let failures = 0;
    status = () => (++failures < 4 ? 503 : 204);
    const { code, said } = await boot();
    expect(code).toBe(1);
    expect(said).toContain("there is none for riscv64");
    expect(steps().slice(-2)).toEqual([
      "failed: its script has ended with 1",
      "output: this machine has no Node 20, and there is none for riscv64",
    ]);
  });

  test("says so too if the Node that was fetched does not run here", async () => {
    useTool("curl");
    const node = builds();
    const root = mkdtempSync(join(dir, "broken-"));
    mkdirSync(join(root, "x64", "bin"), { recursive: true });
    writeFileSync(join(root, "x64", "bin", "node"), "#!/bin/sh\necho 'GLIBC_2.28 not found' >&2\nexit 1\n");
    chmodSync(join(root, "x64", "bin", "node"), 0o755);
    const archive = execFileSync("tar", ["-cz", "-C", root, "x64"]);
    files.set("/x64.tar.gz", archive);
    node.x64.gz = createHash("sha256").update(archive).digest("hex");
    const { code, said } = await boot(node);
    expect([code, said]).toEqual([1, expect.stringContaining("GLIBC_2.28 not found")]);
    expect(steps().at(-1)).toBe("output: GLIBC_2.28 not found");
  });

  test("counts seconds by a clock that does not jump", async () => {
    useTool("curl");
    await boot();
    await waitFor("start: starts the agent");
    const times = (records.at(-1)?.text.match(/^\d+\.\d+/gm) ?? []).map(Number);
    expect(times.length).toBeGreaterThan(4);
    expect(times).toEqual([...times].sort((a, b) => a - b));
  });
});

test("a machine whose Node is too old fetches one, and a newer one is used", async () => {
  useTool("curl");
  program("node", "exit 1");
  expect((await boot()).used).toBe("x64.gz");
  program("node", `exec ${process.execPath} "$@"`);
  rmSync(join(dir, "nodes"));
  expect((await boot()).used).toBe("the machine's own");
});

test("case 66: nothing waits for a package manager, which another program may have locked", () => {
  const script = userDataScript({ url, code: "drvc_w1.1.x", boot: TOKEN, agentSha256: "ab" });
  expect(script).not.toMatch(/\b(?:apt|apt-get|dpkg|dnf|yum|apk|zypper|systemctl)\b/);
});

test("the data of a machine are well below what the clouds take", () => {
  const facts = {
    url: `https://${"x".repeat(200)}`,
    code: `drvc_${"x".repeat(150)}`,
    boot: `drvb_${"x".repeat(150)}`,
    agentSha256: "a".repeat(64),
  };
  const bytes = Buffer.byteLength(userDataScript({ ...facts, notice: "x".repeat(2_000) }));
  expect(bytes).toBeLessThan(Math.min(...Object.values(TRAITS).map((kind) => kind.maxUserDataBytes)) * 0.75);
});

test("the builds are of one version, and their digests are SHA-256", () => {
  const { url: from, ...all } = NODE_BUILDS;
  const [version] = /v\d+\.\d+\.\d+$/.exec(from) ?? [];
  for (const [processor, { name, ...digests }] of Object.entries(all)) {
    expect(name).toBe(`node-${version}-linux-${processor}`);
    for (const digest of Object.values(digests)) expect(digest).toMatch(/^[0-9a-f]{64}$/);
  }
});
