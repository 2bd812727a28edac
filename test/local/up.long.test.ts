import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { portProblem } from "../../local/ports.ts";
import { machineSize } from "../../posix/machine-size.ts";
import { listProcs, sendSignal } from "../../posix/proc.ts";
import { PoolConfig } from "../../src/schema/pool.ts";
import { scratchDir, until } from "./support/scratch.ts";
import {
  ask,
  bootMachine,
  type Context,
  leftOf,
  startUp,
  type UpProcess,
  whenUp,
} from "./support/up-process.ts";

/** What the tiny Worker shows of the pool `default`. */
const PoolShown = z.object({ config: PoolConfig });

/** Undefined: the port is in use, such as by `drover up` while it looks whether it is free. */
function listenerOn(port: number): Promise<Server | undefined> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(undefined));
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}
const modeOf = (path: string) => statSync(path).mode & 0o777;
const kept = (stateDir: string) => JSON.parse(readFileSync(join(stateDir, "up.json"), "utf8"));

/** A `drover up` that was killed while it had one machine, and the processes of that. */
async function killedWithMachine() {
  const stateDir = join(scratchDir(), "state");
  const killed = startUp(stateDir);
  const context = await whenUp(killed, stateDir);
  await bootMachine(stateDir, "w1");
  await until("all of it runs", () => leftOf(stateDir).length >= 5);
  process.kill(killed.pid, "SIGKILL");
  expect(await killed.ended).toBe("SIGKILL");
  const port = Number(new URL(context.url).port);
  await until("the runtime has gone with it", async () => (await portProblem(port)) === undefined);
  const machine = await until("the machine alone is left", () => {
    const left = leftOf(stateDir);
    return left.length === 3 ? left : undefined;
  });
  return { stateDir, context, machine };
}

/** It answers again, and a clean end leaves nothing behind. */
async function answersAndEnds(up: { stateDir: string; running: UpProcess; context: Context }) {
  await until("it answers", () => ask(up.context, "GET", "/env").catch(() => undefined));
  up.running.interrupt();
  expect(await up.running.ended).toBe(0);
  expect(leftOf(up.stateDir)).toEqual([]);
}

describe("drover up", () => {
  it("starts the Worker with its secrets, puts the pool, ticks the cron, and says where it is", async () => {
    const stateDir = join(scratchDir(), "state");
    const running = startUp(stateDir);
    const context = await whenUp(running, stateDir);
    expect(modeOf(stateDir)).toBe(0o700);
    expect(readFileSync(join(stateDir, ".gitignore"), "utf8")).toBe("*\n");
    expect([modeOf(join(stateDir, "context.json")), modeOf(join(stateDir, "up.json"))]).toEqual([
      0o600, 0o600,
    ]);
    expect(context.token).toMatch(/^drv_[\w-]{43}$/);
    const { signingKey, cloudPort, providerSecret } = kept(stateDir);
    expect(await ask(context, "GET", "/env")).toEqual({ url: context.url, key: signingKey });
    const pool = PoolShown.parse(await ask(context, "GET", "/v1/pools/default")).config;
    expect(pool).toMatchObject({
      provider: { kind: "http", url: `http://127.0.0.1:${cloudPort}`, secret: providerSecret },
      instanceTypes: { local: { vcpus: machineSize().vcpus } },
      allowHostPaths: true,
      probe: { interval: "1s", boot: "true" },
      timeouts: { idle: "1m" },
    });
    await until("a cron has ticked", async () =>
      (await ask(context, "GET", "/ticks")) === 1 ? true : undefined,
    );
    running.interrupt();
    expect(await running.ended).toBe(0);
  });

  it("stops everything on Ctrl-C: the runtime, the machines, the lock and the context", async () => {
    const stateDir = join(scratchDir(), "state");
    const running = startUp(stateDir);
    const { url } = await whenUp(running, stateDir);
    await bootMachine(stateDir, "w1");
    await bootMachine(stateDir, "w2");
    // The runtime and the watcher beside it, and three processes of each machine.
    await until("all of it runs", () => leftOf(stateDir).length >= 8);
    // Below npx one press arrives twice. Two signals of a kind might be merged to one, so these are two of
    // different kinds.
    running.interrupt();
    process.kill(running.pid, "SIGTERM");
    expect(await running.ended).toBe(0);
    expect(running.said()).toMatch(/Stopping the control plane and 2 machines[\s\S]*Nothing is left running/);
    expect(leftOf(stateDir)).toEqual([]);
    expect(["lock", "context.json"].filter((name) => existsSync(join(stateDir, name)))).toEqual([]);
    expect(await portProblem(Number(new URL(url).port))).toBeUndefined();
    expect(await portProblem(kept(stateDir).cloudPort)).toBeUndefined();
  });

  it("keeps its URL, token and state over a restart, and forgets them with --fresh", async () => {
    const stateDir = join(scratchDir(), "state");
    const first = startUp(stateDir);
    const context = await whenUp(first, stateDir);
    expect(await ask(context, "POST", "/count")).toBe(1);
    first.interrupt();
    await first.ended;

    const second = startUp(stateDir);
    expect(await whenUp(second, stateDir)).toEqual(context);
    expect(await ask(context, "POST", "/count")).toBe(2);
    second.interrupt();
    await second.ended;

    const third = startUp(stateDir, "--fresh");
    const anew = await whenUp(third, stateDir);
    expect(anew.token).not.toBe(context.token);
    expect(await ask(anew, "POST", "/count")).toBe(1);
  });

  it("refuses to run twice on one state directory, and says who holds it", async () => {
    const stateDir = join(scratchDir(), "state");
    const first = startUp(stateDir);
    const context = await whenUp(first, stateDir);
    const second = startUp(stateDir, "--fresh");
    expect(await second.ended).toBe(125);
    expect(second.said()).toContain(`process ${first.pid} holds`);
    expect(await ask(context, "POST", "/count")).toBe(1);
  });

  it("says which port is taken, and by which flag another is chosen", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const stateDir = join(scratchDir(), "state");
    const running = startUp(stateDir, `--port=${port}`);
    expect(await running.ended).toBe(125);
    expect(running.said()).toMatch(new RegExp(`Port ${port} .* is in use .*--port`));
    expect(existsSync(join(stateDir, "lock"))).toBe(false);
  });

  it("chooses again if another program takes the port that it has just chosen", async () => {
    for (;;) {
      const stateDir = join(scratchDir(), "state");
      const running = startUp(stateDir);
      const taken = await until("a port is chosen", () =>
        existsSync(join(stateDir, "up.json")) ? kept(stateDir).port : undefined,
      );
      const isUp = () => (running.said().includes("is up at") ? "too late" : undefined);
      const thief = await until("it is taken away", async () => (await listenerOn(taken)) ?? isUp());
      if (thief === "too late") {
        running.interrupt();
        await running.ended;
        continue;
      }
      onTestFinished(() => void thief.close());
      const { url } = await whenUp(running, stateDir);
      expect(Number(new URL(url).port)).not.toBe(taken);
      return;
    }
  });

  it("refuses a directory with other people's files in it, and touches none of them", async () => {
    const dir = scratchDir();
    writeFileSync(join(dir, "thesis.tex"), "years of work");
    const running = startUp(dir, "--fresh");
    expect(await running.ended).toBe(125);
    expect(running.said()).toContain("thesis.tex");
    expect(existsSync(join(dir, ".gitignore"))).toBe(false);
  });

  it("leaves no runtime after a SIGKILL, and the next one goes on with the machines", async () => {
    const { stateDir, context, machine } = await killedWithMachine();
    const next = startUp(stateDir);
    expect(await whenUp(next, stateDir)).toEqual(context);
    expect(next.said()).toContain("continues with 1 machine");
    expect(leftOf(stateDir)).toEqual(expect.arrayContaining(machine));
    expect(await ask(context, "POST", "/count")).toBe(1);
    next.interrupt();
    expect(await next.ended).toBe(0);
    expect(leftOf(stateDir)).toEqual([]);
  });

  it("ends with --fresh the machines that a killed one left behind", async () => {
    const { stateDir, machine } = await killedWithMachine();
    const next = startUp(stateDir, "--fresh");
    await whenUp(next, stateDir);
    expect(leftOf(stateDir).filter((pid) => machine.includes(pid))).toEqual([]);
  });

  it("keeps machines over a start that fails, and does not move away from them", async () => {
    const { stateDir, context, machine } = await killedWithMachine();
    const before = kept(stateDir);
    const moved = startUp(stateDir, `--port=${Number(new URL(context.url).port) + 1}`);
    expect(await moved.ended).toBe(125);
    expect(moved.said()).toMatch(/still run \(1\), and report to port \d+\. Start without --port/);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(before.port, "127.0.0.1", resolve));
    const blocked = startUp(stateDir);
    expect(await blocked.ended).toBe(125);
    server.close();
    expect(leftOf(stateDir)).toEqual(machine);
    expect(kept(stateDir)).toEqual(before);
  });

  it("takes a directory in which it died while it wrote, and removes the draft", async () => {
    const stateDir = join(scratchDir(), "state");
    mkdirSync(stateDir);
    const draft = join(stateDir, "instances.json.new");
    writeFileSync(draft, '{"version":1,"inst');
    await whenUp(startUp(stateDir), stateDir);
    expect(existsSync(draft)).toBe(false);
  });

  it("ends at once at the second Ctrl-C, and leaves neither runtime nor machines", async () => {
    const stateDir = join(scratchDir(), "state");
    // It never comes to an end with its start, so the second signal is sure to find it.
    const running = startUp(stateDir, "--script=silent-worker.js");
    await until("the runtime runs", () => leftOf(stateDir).length >= 2);
    await bootMachine(stateDir, "w1");
    running.interrupt();
    // Two presses are told from one that arrives twice by the time between them, and by nothing else.
    await sleep(3_000);
    running.interrupt();
    expect(await running.ended).toBe(130);
    await until("nothing is left", () => leftOf(stateDir).length === 0);
  });
});

it("workerd that is killed, and killed again each time that it starts, comes back", async () => {
  const stateDir = join(scratchDir(), "state");
  const running = startUp(stateDir);
  const context = await whenUp(running, stateDir);
  const killed = new Set<number>();
  while (killed.size < 4) {
    const children = listProcs().filter(({ ppid, ended }) => ppid === running.pid && !ended);
    for (const { pid } of children) {
      if (!killed.has(pid)) sendSignal(pid, "SIGKILL");
      killed.add(pid);
    }
    await sleep(1);
  }
  await answersAndEnds({ stateDir, running, context });
});

it("workerd that dies before it has read its configuration is started again", async () => {
  const stateDir = join(scratchDir(), "state");
  const script = join(scratchDir(), "large-worker.js");
  const tiny = readFileSync(join(import.meta.dirname, "support/tiny-worker.js"), "utf8");
  writeFileSync(script, `${tiny}\n// ${"more than a pipe holds ".repeat(100_000)}\n`);
  const running = startUp(stateDir, `--script=${script}`);
  const context = await whenUp(running, stateDir);
  const guard = join(stateDir, "workerd-guard");
  const whole = readFileSync(guard);
  const died = join(stateDir, "died");
  // Its child keeps the pipe open. So Node hears of the death, and never of a broken pipe.
  writeFileSync(guard, `#!/bin/sh\nexec 4<&0\nsleep 300 <&4 >&4 2>&4 &\n: >'${died}'\nkill -9 $$\n`);
  for (const { ppid, pid } of listProcs()) if (ppid === running.pid) sendSignal(pid, "SIGKILL");
  await until("it has died", () => existsSync(died) || undefined);
  writeFileSync(guard, whole);
  await answersAndEnds({ stateDir, running, context });
});

it.each(["worker.js", "worker-options.json"])("a build that lacks %s is told by name", (missing) => {
  const dir = scratchDir();
  const root = join(import.meta.dirname, "../..");
  for (const name of ["bin", "dist", "package.json"])
    cpSync(join(root, name), join(dir, name), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(dir, "node_modules"));
  rmSync(join(dir, "dist", missing));
  const { status, stderr } = spawnSync(process.execPath, ["bin/drover.mjs", "up"], {
    cwd: dir,
    encoding: "utf8",
  });
  expect(status).toBe(125);
  expect(stderr).toContain(
    `${join(dir, "dist", missing)} is missing. Run \`npm run build\` in its directory.`,
  );
  expect(existsSync(join(dir, ".drover"))).toBe(false);
});
