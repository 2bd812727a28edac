import { execFileSync, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { NODE_BUILDS, type NodeBuilds } from "../../src/objects/host/node-builds.ts";
import { userDataScript } from "../../src/objects/host/user-data.ts";
import { TRAITS } from "../../src/shared/cloud/kinds.ts";

// The user data of a machine, run here on a path that has no Node (clouds.md#booting). Node comes from a
// mirror on this computer, and the agent is a program that writes down how it was called.

const AGENT = `
import { writeFileSync } from "node:fs";
writeFileSync(process.env.OUT, JSON.stringify({ args: process.argv.slice(2) }));
`;
const TOOLS = ["sh", "cat", "mkdir", "mv", "rm", "sleep", "tar", "gzip", "sha256sum"];

let dir: string;
let server: Server;
let url: string;
/** What the mirror gives, by path. */
let files: Map<string, Buffer>;
let asked: string[];

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "boot-"));
  files = new Map([["/agent/drover-agent.mjs", Buffer.from(AGENT)]]);
  asked = [];
  server = createServer(({ url: path = "" }, response) => {
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
const fetched = () => asked.filter((path) => path.includes(".tar."));

/** Boots a machine. Resolves with how its script ended, and with what the agent was called with. */
async function boot(node = builds()) {
  const agentSha256 = createHash("sha256").update(AGENT).digest("hex");
  const script = userDataScript({ url, code: "drvc_w1.1.x", agentSha256, node });
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
    expect([code, used, fetched().length]).toEqual([0, "x64.gz", 2]);
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

test("a machine whose Node is too old fetches one, and a newer one is used", async () => {
  useTool("curl");
  program("node", "exit 1");
  expect((await boot()).used).toBe("x64.gz");
  program("node", `exec ${process.execPath} "$@"`);
  rmSync(join(dir, "nodes"));
  expect((await boot()).used).toBe("the machine's own");
});

test("case 66: nothing waits for a package manager, which another program may have locked", () => {
  const script = userDataScript({ url, code: "drvc_w1.1.x", agentSha256: "ab" });
  expect(script).not.toMatch(/\b(?:apt|apt-get|dpkg|dnf|yum|apk|zypper|systemctl)\b/);
});

test("the data of a machine are far below what the clouds take", () => {
  const facts = {
    url: `https://${"x".repeat(200)}`,
    code: `drvc_${"x".repeat(150)}`,
    agentSha256: "a".repeat(64),
  };
  const bytes = Buffer.byteLength(userDataScript({ ...facts, notice: "x".repeat(2_000) }));
  expect(bytes).toBeLessThan(Math.min(...Object.values(TRAITS).map((kind) => kind.maxUserDataBytes)) / 2);
});

test("the builds are of one version, and their digests are SHA-256", () => {
  const { url: from, ...all } = NODE_BUILDS;
  const [version] = /v\d+\.\d+\.\d+$/.exec(from) ?? [];
  for (const [processor, { name, ...digests }] of Object.entries(all)) {
    expect(name).toBe(`node-${version}-linux-${processor}`);
    for (const digest of Object.values(digests)) expect(digest).toMatch(/^[0-9a-f]{64}$/);
  }
});
