import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

// Drover as `npm install -g` has it: packed, and installed where nothing else is. Without a registry, since
// it needs no other package; and outside of the checkout, where Node would find what is not packed.

const ROOT = join(import.meta.dirname, "../..");

const dir = mkdtempSync("/dev/shm/drover-package-");
const prefix = join(dir, "installed");
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function npm(cwd: string, ...args: string[]): void {
  const env = { ...process.env, npm_config_cache: join(dir, "cache") };
  execFileSync("npm", [...args, "--ignore-scripts", "--offline", "--no-audit", "--no-fund"], {
    cwd,
    env,
    stdio: "pipe",
  });
}

beforeAll(() => {
  npm(ROOT, "pack", "--pack-destination", dir);
  const file = readdirSync(dir).find((name) => name.endsWith(".tgz")) ?? "no tarball";
  npm(dir, "install", "--global", "--engine-strict", "--prefix", prefix, join(dir, file));
});

function drover(...args: string[]) {
  const env = { PATH: `${join(process.execPath, "..")}:/usr/bin:/bin` };
  const { status, stdout, stderr } = spawnSync(join(prefix, "bin/drover"), args, {
    cwd: prefix,
    env,
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

test("P12: the installed package needs no other one, and every verb but `up` works", () => {
  const installed = readdirSync(join(prefix, "lib/node_modules"));
  expect(installed.filter((name) => !name.startsWith("."))).toEqual(["drover"]);
  expect(existsSync(join(prefix, "lib/node_modules/drover/node_modules"))).toBe(false);
  const verbs = [...drover("help").stdout.matchAll(/^ {2}([a-z]+) .{3}/gm)].map(([, verb = ""]) => verb);
  expect(verbs).toContain("run");
  for (const verb of new Set(verbs)) expect([verb, drover(verb, "--help").status]).toEqual([verb, 0]);
  expect(drover("ps")).toMatchObject({ status: 125, stderr: expect.stringContaining("No Drover found") });
  const file = join(ROOT, "package.json");
  expect(drover("snapshots", "upload", file).stderr).not.toMatch(/Cannot find|node:internal/);
  expect(drover("provider", "test", "-f", file)).toMatchObject({
    status: 125,
    stderr: expect.stringContaining("is not the configuration of a pool"),
  });
});

test("the manual pages are where `man` looks for them (cli.md#man)", () => {
  const pages = readdirSync(join(prefix, "share/man/man1"));
  expect(pages).toEqual(expect.arrayContaining(["drover.1", "drover-run.1"]));
  expect(readFileSync(join(prefix, "share/man/man1/drover-run.1"), "utf8")).toMatch(
    /^\.TH "DROVER\\-RUN" 1 /,
  );
});

test("P12: `drover up` of the installed package says what it needs, and leaves nothing behind", () => {
  expect(drover("up")).toEqual({
    status: 125,
    stdout: "",
    stderr: expect.stringMatching(/^drover: `drover up` needs the local runtime .*checkout of Drover.*\n$/),
  });
  expect(existsSync(join(prefix, ".drover"))).toBe(false);
});

test("P12: `engines` is what all of the package needs", () => {
  const { engines, dependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  expect([engines.node, dependencies]).toEqual([">=20.6", undefined]);
});

test("P20: the line of docs/client.md installs `drover/client` into a project", () => {
  const line = /^npm install ~\/drover$/m.exec(readFileSync(join(ROOT, "docs/client.md"), "utf8"))?.[0];
  expect(line).toBeDefined();
  const project = join(dir, "project");
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), "{}");
  npm(project, "install", ROOT);
  const program = 'import { createClient } from "drover/client"; console.log(typeof createClient);';
  writeFileSync(join(project, "program.mjs"), program);
  const ran = spawnSync(process.execPath, ["program.mjs"], { cwd: project, encoding: "utf8" });
  expect(ran).toMatchObject({ stdout: "function\n", stderr: "" });
});
