import { execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startRegistry } from "./support/registry.ts";
import { until } from "./support/scratch.ts";

// Drover as `npm install -g` has it: packed, and installed where nothing else is, with the Nodes that it is
// promised to work with (decisions/command.md#package). Outside of the checkout, where Node would find what
// is not packed.

const ROOT = join(import.meta.dirname, "../..");
const OF_NPM = join(ROOT, "node_modules");

/** The folders of `node` by its major version: the one of `npm ci`, and the machine's. */
function nodes(): Map<number, string> {
  const folders = (process.env.PATH ?? "").split(delimiter).filter((one) => !one.includes("node_modules"));
  const found = new Map<number, string>();
  for (const folder of [...folders, join(OF_NPM, "node/bin")]) {
    const { stdout } = spawnSync(join(folder, "node"), ["-p", "process.versions.node"], { encoding: "utf8" });
    const major = Number.parseInt(stdout ?? "", 10);
    if (major > 0 && !found.has(major)) found.set(major, folder);
  }
  return found;
}
const NODES = nodes();

let dir = "";
let tarball = "";
let registry: Awaited<ReturnType<typeof startRegistry>>;
beforeAll(async () => {
  dir = mkdtempSync("/var/tmp/drover-package-");
  registry = await startRegistry();
  await npm(ROOT, process.env.PATH ?? "", "pack", "--pack-destination", dir);
  tarball = join(dir, readdirSync(dir).find((name) => name.endsWith(".tgz")) ?? "no tarball");
});
afterAll(() => {
  registry.stop();
  rmSync(dir, { recursive: true, force: true });
});

async function npm(cwd: string, path: string, ...args: string[]): Promise<void> {
  const from = { npm_config_cache: join(dir, "cache"), npm_config_registry: registry.url };
  const env = { HOME: dir, PATH: path, ...from };
  await promisify(execFile)("npm", [...args, "--ignore-scripts", "--no-audit", "--no-fund"], { cwd, env });
}

/** Installs the tarball with a Node, and returns how the installed command is called. */
async function install(major: number) {
  const prefix = mkdtempSync(join(dir, `node-${major}-`));
  const path = `${NODES.get(major)}:/usr/local/bin:/usr/bin:/bin`;
  await npm(dir, path, "install", "--global", "--prefix", prefix, tarball);
  const cwd = join(prefix, "empty");
  mkdirSync(cwd);
  const options = { cwd, env: { HOME: cwd, PATH: `${join(prefix, "bin")}:${path}` } };
  const drover = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync("drover", args, { ...options, encoding: "utf8" });
    return { status, stdout, stderr };
  };
  return { prefix, drover, options, modules: join(prefix, "lib/node_modules/drover/node_modules") };
}

type Installed = Awaited<ReturnType<typeof install>>;

/** The words of every command: verbs, and verbs below a verb. The help of each must be there. */
function commandsOf(drover: Installed["drover"], above: string[] = []): string[][] {
  const { status, stdout, stderr } = drover(...above, "--help");
  expect([above, status, stderr]).toEqual([above, 0, ""]);
  const list = /^Commands:\n((?: .*\n|\n)*)/m.exec(stdout)?.[1] ?? "";
  const names = [...list.matchAll(/^ {2}([a-z][a-z-]*)/gm)].map(([, name = ""]) => name);
  return names
    .filter((name) => name !== "help")
    .flatMap((name) => [[...above, name], ...commandsOf(drover, [...above, name])]);
}

describe.each([20, 24])("installed alone with Node %i", (major) => {
  if (!NODES.has(major))
    process.stderr.write(`package.long.test.ts: there is no Node ${major}, so it is not tried\n`);
  describe.skipIf(!NODES.has(major))("the package", () => {
    let installed: Installed;
    beforeAll(async () => {
      installed = await install(major);
    });

    test("P12: has each verb, with its help and its manual page (cli.md#man)", () => {
      const { prefix, drover } = installed;
      const commands = commandsOf(drover);
      expect(commands).toEqual(expect.arrayContaining([["run"], ["exec"], ["pools", "create"]]));
      const pages = readdirSync(join(prefix, "share/man/man1"));
      for (const [verb] of commands) expect(pages).toContain(`drover-${verb}.1`);
      expect(readFileSync(join(prefix, "share/man/man1/drover-run.1"), "utf8")).toMatch(
        /^\.TH "DROVER\\-RUN" 1 /,
      );
    });

    test("completes its verbs in bash (cli.md#completion)", () => {
      const { drover, options } = installed;
      const script = drover("completion", "bash").stdout;
      const ask = 'COMP_WORDS=(drover reru); COMP_CWORD=1; _drover; echo "${COMPREPLY[@]}"';
      const { stdout } = spawnSync("bash", ["-c", `${script}\n${ask}`], { ...options, encoding: "utf8" });
      expect(stdout).toBe("rerun\n");
    });

    test("`drover up` runs there, with a command on a machine (decisions/command.md#package)", async () => {
      const { drover, options } = installed;
      const up = spawn("drover", ["up"], { ...options, stdio: ["ignore", "pipe", "pipe"] });
      let said = "";
      for (const stream of [up.stdout, up.stderr]) {
        stream.setEncoding("utf8").on("data", (text) => {
          said += text;
        });
      }
      const ended = new Promise((resolve) => up.once("close", resolve));
      try {
        await until(
          "it is up",
          () => said.includes("is up at") || undefined,
          () => said,
        );
        const ran = await new Promise((resolve) => {
          const words = ["run", "--", "sh", "-c", "node --version; exit 3"];
          execFile("drover", words, options, (error, stdout, stderr) => {
            resolve({ code: error?.code, stdout, stderr });
          });
        });
        expect(ran).toMatchObject({ code: 3, stdout: expect.stringMatching(new RegExp(`^v${major}\\.`)) });
        expect(drover("exec", "-", "true")).toMatchObject({
          status: 125,
          stderr: expect.stringContaining("the run has ended"),
        });
      } finally {
        up.kill("SIGINT");
      }
      expect(await ended, said).toBe(0);
      expect(said).toContain("Nothing is left running.");
    });
  });
});

describe("without its other packages", () => {
  let installed: Installed;
  beforeAll(async () => {
    installed = await install(24);
    rmSync(installed.modules, { recursive: true });
  });

  test("P12: every verb but `up` works", () => {
    const { drover } = installed;
    expect(drover("ps")).toMatchObject({ status: 125, stderr: expect.stringContaining("No Drover found") });
    const file = join(ROOT, "package.json");
    expect(drover("snapshots", "upload", file).stderr).not.toMatch(/Cannot find|node:internal/);
    expect(drover("provider", "test", "-f", file)).toMatchObject({
      status: 125,
      stderr: expect.stringContaining("is not the configuration of a pool"),
    });
  });

  test("P12: `drover up` says what it needs, and leaves nothing behind", () => {
    const { drover, options } = installed;
    expect(drover("up")).toEqual({
      status: 125,
      stdout: "",
      stderr: expect.stringMatching(
        /^drover: `drover up` needs the local runtime, and miniflare is not .*\n$/,
      ),
    });
    expect(existsSync(join(options.cwd, ".drover"))).toBe(false);
  });
});

test("P12: `engines` is what all of the package needs, and the runtime is all that it depends on", () => {
  const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  expect(manifest.engines.node).toBe(">=20.6");
  expect(Object.keys(manifest.dependencies)).toEqual(["miniflare"]);
});

test("P20: the line of docs/client.md installs `drover/client` into a project", async () => {
  const line = /^npm install ~\/drover$/m.exec(readFileSync(join(ROOT, "docs/client.md"), "utf8"))?.[0];
  expect(line).toBeDefined();
  const project = join(dir, "project");
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), "{}");
  await npm(project, process.env.PATH ?? "", "install", ROOT);
  const program = 'import { createClient } from "drover/client"; console.log(typeof createClient);';
  writeFileSync(join(project, "program.mjs"), program);
  const printed = execFileSync(process.execPath, ["program.mjs"], { cwd: project, encoding: "utf8" });
  expect(printed).toBe("function\n");
});
