// `npm run dev` on a copy of the sources: what a change leads to, and that nothing is left after Ctrl-C.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { choosePort } from "../../local/ports.ts";
import { sendSignal } from "../../posix/proc.ts";
import { scratchDir, until } from "./support/scratch.ts";
import { type Context, leftOf } from "./support/up-process.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** What a build reads. */
const FOLDERS = "agent archive bin cli client disk local posix scripts src ui".split(" ");
const SOURCES = [...FOLDERS, "package.json", "wrangler.toml"];
const CONFIGS = ["tsconfig.base.json", "tsconfig.client.json"];

const INSPECTOR_PORT = await choosePort();

test("a change is built and restarts `drover up`, a mistake does not; Ctrl-C ends all", async () => {
  const dir = scratchDir();
  for (const name of [...SOURCES, ...CONFIGS]) cpSync(join(ROOT, name), join(dir, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(dir, "node_modules"));
  const stateDir = join(dir, "state");
  const dev = startDev(dir, stateDir);
  const change = (path: string, from: string, to: string) => {
    const text = readFileSync(join(dir, path), "utf8");
    expect(text).toContain(from);
    writeFileSync(join(dir, path), text.replace(from, to));
  };
  const context = (): Context => JSON.parse(readFileSync(join(stateDir, "context.json"), "utf8"));
  const agentOf = async () => (await fetch(`${context().url}/agent/drover-agent.mjs`)).text();

  await until("it is up", () => dev.said().includes("Drover is up at"));
  const { url } = context();
  // What CONTRIBUTING says of debugging.
  const stored = execFileSync(process.execPath, ["scripts/stored.mjs", "Pool", "default"], {
    cwd: dir,
    env: { ...process.env, DROVER_STATE: stateDir },
    encoding: "utf8",
  });
  expect(stored).toMatch(/record: \{\s+name: 'default',/);
  const targets = await (await fetch(`http://127.0.0.1:${INSPECTOR_PORT}/json`)).json();
  expect(targets).toContainEqual(expect.objectContaining({ id: "core:user:drover" }));

  // The Worker carries the agent, so this change goes through two bundles.
  change(
    "agent/main.ts",
    "const settings = readArguments();",
    "process.title;\nconst settings = readArguments();",
  );
  await until("it is restarted", () => dev.said().split("Drover is up at").length >= 3);
  // One change may restart it twice.
  await until("the agent is the changed one", async () => {
    return (await agentOf().catch(() => "")).includes("process.title;");
  });
  expect(context().url).toBe(url);

  writeFileSync(join(dir, "ui/main.tsx"), "\nperformance.mark('changed');\n", { flag: "a" });
  await until("it is restarted again", () => dev.said().split("Drover is up at").length >= 4);
  const pageOf = async () => (await fetch(`${url}/ui/files/main.js`)).text();
  await until("the page is the changed one", async () => {
    return (await pageOf().catch(() => "")).includes('"changed"');
  });

  change("local/up-command.ts", "const EXIT_FAILURE = 125;", "const EXIT_FAILURE = ;");
  await until("it says what is wrong", () => dev.said().includes("the command could not be built"));
  expect(dev.said()).toContain("local/up-command.ts:");
  expect((await fetch(`${url}/healthz`)).status).toBe(200);

  dev.interrupt();
  expect(await dev.ended).toBe(0);
  expect(dev.said()).toContain("Nothing is left running.");
  expect(leftOf(stateDir)).toEqual([]);
});

function startDev(dir: string, stateDir: string) {
  const child: ChildProcess = spawn(process.execPath, ["scripts/dev.mjs", "--state", stateDir], {
    cwd: dir,
    env: { ...process.env, DROVER_INSPECTOR_PORT: String(INSPECTOR_PORT) },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (text) => (said += text));
  const ended = new Promise<number | string | null>((resolve) => {
    child.once("close", (code, signal) => resolve(code ?? signal));
  });
  const signal = (name: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-Number(child.pid), name);
  };
  onTestFinished(async () => {
    // It ends its `drover up` when it is asked to.
    signal("SIGINT");
    await ended;
    for (const pid of leftOf(stateDir)) sendSignal(pid, "SIGKILL");
  });
  return { said: () => said, interrupt: () => signal("SIGINT"), ended };
}
