import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Bench, openBench } from "./support/bench.ts";

// An agent that makes room for a newer one (host-protocol.md#self-update): real processes, started by the
// loop of a machine's script.

/** As in `src/objects/host/user-data.sh`: the loop that starts the agent, and goes back. */
const SCRIPT = readFileSync(join(import.meta.dirname, "../../src/objects/host/user-data.sh"), "utf8");
const GO_BACK = /^go_back\(\) \{\n(?:.*\n)*?\}\n/m.exec(SCRIPT)?.[0] ?? "";

let bench: Bench;
let stop: () => Promise<void>;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(async () => {
  await stop();
  await bench.close();
});

const digestOf = (bytes: Buffer | string) => createHash("sha256").update(bytes).digest("hex");
const agentFile = () => join(bench.dir, "drover-agent.mjs");

/** The control plane serves this agent from now on. */
function serve(text: string): string {
  bench.plane.override = ({ path }) =>
    path === "/agent/drover-agent.mjs" ? { status: 200, raw: Buffer.from(text) } : undefined;
  const sha256 = digestOf(text);
  bench.plane.order([], { agent: sha256 });
  return sha256;
}

/** Starts the agent as a machine does: again and again, and with the old one after three starts in vain. */
function startLoop(): void {
  const { dir, stateDir, plane } = bench;
  const start = `${process.execPath} ${agentFile()} --url ${plane.url} --state ${stateDir}`;
  const script = `dir=${dir}
    ${GO_BACK}
    while :; do
      go_back
      DROVER_RESTARTS=1 ${start} --code-file $dir/code
      sleep 0.05
    done`;
  const env = { ...process.env, DROVER_INSTANCE: dir, DROVER_BOOT_ID: "boot-1" };
  const child = spawn("sh", ["-c", script], { env, stdio: "ignore", detached: true });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  stop = async () => {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    await ended;
  };
}

test("an agent whose orders have never changed has reported, too", async () => {
  // A worker without runs has orders of revision 0.
  bench.plane.revision = 0;
  const sha256 = digestOf(readFileSync(agentFile()));
  writeFileSync(join(bench.dir, "updating"), `${sha256}\n`);
  copyFileSync(agentFile(), `${agentFile()}.old`);
  startLoop();
  await bench.plane.until("it has reported", () => bench.plane.reports.length > 0);
  await expect.poll(() => existsSync(join(bench.dir, "updating"))).toBe(false);
});

describe("a newer agent", () => {
  test("takes the place of the old one, and joins as the same host", async () => {
    startLoop();
    await bench.plane.until(
      "the first start",
      () => bench.plane.incarnation === 1 && bench.plane.reports.length > 0,
    );
    const newer = `${readFileSync(agentFile(), "utf8")}\n// newer\n`;
    const sha256 = serve(newer);
    await bench.plane.until("the second start", () => bench.plane.incarnation === 2);
    await bench.plane.until("its report", () => bench.plane.reports.at(-1)?.incarnation === 2);
    expect(digestOf(readFileSync(agentFile()))).toBe(sha256);
    const left = [join(bench.dir, "updating"), `${agentFile()}.old`];
    await expect.poll(() => left.filter((file) => existsSync(file))).toEqual([]);
  });

  test("that never reports makes room for the old one again, which does not take it twice", async () => {
    startLoop();
    await bench.plane.until("the first start", () => bench.plane.reports.length > 0);
    const before = digestOf(readFileSync(agentFile()));
    const broken = 'process.exit(process.argv.includes("--version") ? 0 : 1);\n';
    const sha256 = serve(broken);
    const asked = () => bench.plane.calls.filter(({ path }) => path === "/agent/drover-agent.mjs").length;
    await bench.plane.until("the old one is back", () => bench.plane.reports.at(-1)?.incarnation === 2);
    expect(digestOf(readFileSync(agentFile()))).toBe(before);
    expect(readFileSync(join(bench.dir, "refused"), "utf8").split("\n")[0]).toBe(sha256);
    const { length } = bench.plane.reports;
    bench.plane.order([], { agent: sha256 });
    await bench.plane.until("it has heard of it again", () => bench.plane.reports.length > length);
    expect([asked(), bench.plane.incarnation]).toEqual([1, 2]);
  });

  test.each([
    ["does not run here", "syntax error here"],
    ["is another one than it should be", undefined],
  ])("that %s is not taken", async (_what, text) => {
    startLoop();
    await bench.plane.until("the first start", () => bench.plane.reports.length > 0);
    const before = digestOf(readFileSync(agentFile()));
    if (text === undefined) bench.plane.order([], { agent: "f".repeat(64) });
    else serve(text);
    await bench.plane.until("it is fetched", () =>
      bench.plane.calls.some(({ path }) => path === "/agent/drover-agent.mjs"),
    );
    const { length } = bench.plane.reports;
    bench.plane.order([]);
    await bench.plane.until("the old agent goes on", () => bench.plane.reports.length > length);
    expect([digestOf(readFileSync(agentFile())), bench.plane.incarnation]).toEqual([before, 1]);
    expect(existsSync(join(bench.dir, "updating"))).toBe(false);
  });
});
