import { spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { lives, readProc } from "../../posix/proc.ts";
import { until } from "../local/support/scratch.ts";
import { makeHome } from "./support/drover.ts";
import type { Json } from "./support/edge.ts";
import { endOf } from "./support/ends.ts";
import { OWN_POOL } from "./support/http-host.ts";
import { type Server, startServer } from "./support/server.ts";

// A self-hosted machine, from `POST /v1/enrollments` to the end of its agent, with the real script, real
// agents and real processes: this machine is it.

let server: Server;
let home = "";
const agents: Machine[] = [];
beforeAll(async () => {
  server = await startServer();
  home = makeHome("own");
  await server.json(201, "PUT", "/v1/pools/own", OWN_POOL);
});
beforeEach(() => {
  rmSync(home, { recursive: true, force: true });
  mkdirSync(home);
});
afterAll(async () => {
  for (const { end } of agents) end("SIGKILL");
  await Promise.all(agents.map(({ ended }) => ended));
  await server.stop();
  rmSync(home, { recursive: true, force: true });
});

/** What was pasted, as long as it runs. */
interface Machine {
  /** Signals all of its pipe. */
  end: (signal: NodeJS.Signals) => void;
  said: () => string;
  ended: Promise<number | null>;
}

/** Types a line into a shell of this machine, which reads it as its input. `env` is what differs there. */
function type(line: string, env: Record<string, string> = {}): Machine {
  const child = spawn("sh", {
    cwd: home,
    env: { PATH: process.env.PATH, HOME: home, ...env },
    stdio: ["pipe", "ignore", "pipe"],
    detached: true,
  });
  child.stdin.end(`${line}\n`);
  const { pid = 0 } = child;
  let running = true;
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    said += text;
  });
  const ended = new Promise<number | null>((resolve) =>
    child.once("close", (code) => {
      running = false;
      resolve(code);
    }),
  );
  const end = (signal: NodeJS.Signals) => {
    if (running) process.kill(-pid, signal);
  };
  const machine = { end, said: () => said, ended };
  agents.push(machine);
  return machine;
}

const script = () => `curl -fsSL ${server.url}/agent/install.sh`;
const invite = (): Promise<Json> => server.json(201, "POST", "/v1/enrollments", { pool: "own" });
const workerNow = (id: string): Promise<Json> => server.json(200, "GET", `/v1/workers/${id}`);
const isIn = (id: string, state: string) =>
  until(`${id} is ${state}`, async () => {
    const worker = await workerNow(id);
    return worker.state === state ? worker : undefined;
  });

/** Pastes what the enrollment says; the agent runs in the foreground, with its state in a folder here. */
async function joined(state = "mine", env: Record<string, string> = {}) {
  const { command, worker } = await invite();
  const machine = type(`${command} --foreground --state ${state}`, env);
  await isIn(worker, "idle");
  return { machine, worker };
}

/** What every user of this machine can read of its processes. */
function allArguments(): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8");
      } catch {
        return "";
      }
    });
}

async function ended(spec: object): Promise<Json> {
  const { id } = await server.json(201, "POST", "/v1/runs", { pool: "own", ...spec });
  return endOf(server, id);
}

describe("a machine that has pasted the line of an enrollment", () => {
  test("runs what is placed there, and is let go by a drain: its agent exits with 0", async () => {
    const { machine, worker } = await joined();
    const run = await ended({ argv: ["sh", "-c", "exit 3"] });
    expect(run).toMatchObject({ state: "complete", exitCode: 3, placements: [{ worker }] });
    expect(await workerNow(worker)).toMatchObject({ own: true, instance: null, instanceType: "self-hosted" });
    await server.json(200, "POST", `/v1/workers/${worker}/drain`);
    await isIn(worker, "gone");
    expect(await machine.ended).toBe(0);
    expect(machine.said()).toContain("the control plane no longer needs this machine");
  });

  test("finishes its runs first", async () => {
    const { machine, worker } = await joined();
    const wait = { argv: ["sh", "-c", `until [ -e '${home}/end' ]; do sleep 0.05; done; exit 4`] };
    const { id } = await server.json(201, "POST", "/v1/runs", { pool: "own", ...wait });
    await isIn(worker, "running");
    expect((await server.json(200, "POST", `/v1/workers/${worker}/drain`)).state).toBe("running");
    writeFileSync(join(home, "end"), "");
    expect(await endOf(server, id)).toMatchObject({ exitCode: 4 });
    await isIn(worker, "gone");
    expect(await machine.ended).toBe(0);
  });

  test("loses its runs by a kill, which end unknown, and nothing of them is left", async () => {
    const { machine, worker } = await joined();
    const argv = ["sh", "-c", `echo $$ > '${home}/pid'; exec sleep 600`];
    const { id } = await server.json(201, "POST", "/v1/runs", { pool: "own", argv });
    const command = await until("it runs", () => {
      const file = join(home, "pid");
      const pid = existsSync(file) ? readFileSync(file, "utf8").trim() : "";
      return pid === "" ? undefined : readProc(Number(pid));
    });
    await server.json(200, "POST", `/v1/workers/${worker}/kill`, { reason: "test" });
    const run = await endOf(server, id);
    expect(run).toMatchObject({ state: "unknown", failure: { code: "machine_lost" } });
    expect(await machine.ended).toBe(0);
    expect(lives(command)).toBe(false);
  });

  test("drains while it has notice, and stops its runs before it goes (cases.md#case-9)", async () => {
    const { machine, worker } = await joined();
    const argv = ["sleep", "600"];
    const { id } = await server.json(201, "POST", "/v1/runs", { pool: "own", argv });
    await isIn(worker, "running");
    writeFileSync(join(home, "mine", "draining"), "new disks\ngone in 20s\n");
    const run = await endOf(server, id);
    expect(run).toMatchObject({
      state: "unknown",
      failure: { code: "machine_lost" },
      placements: [{ worker, outcome: "gone", cause: "interruption" }],
    });
    expect(await isIn(worker, "idle")).toMatchObject({
      idleBehavior: "drain",
      notice: { text: "new disks" },
    });
    rmSync(join(home, "mine", "draining"));
    await until("it takes runs again", async () => (await workerNow(worker)).idleBehavior === "run");
    await server.json(200, "POST", `/v1/workers/${worker}/drain`);
    expect(await machine.ended).toBe(0);
  });

  test("keeps what it is when the line is typed again, also with a new code", async () => {
    const { machine, worker } = await joined();
    machine.end("SIGKILL");
    await machine.ended;
    const { command, worker: unused } = await invite();
    const again = type(`${command} --foreground --state mine`);
    await until("it has joined again", async () => (await workerNow(worker)).incarnation === 2 || undefined);
    expect(again.said()).toContain("it keeps its identity");
    expect((await workerNow(unused)).joinedAt).toBeNull();
    await server.json(200, "POST", `/v1/workers/${worker}/drain`);
    expect(await again.ended).toBe(0);
  });

  test("becomes another one by a new code, when it was let go", async () => {
    const { machine, worker } = await joined();
    await server.json(200, "POST", `/v1/workers/${worker}/drain`);
    await isIn(worker, "gone");
    expect(await machine.ended).toBe(0);
    const refused = type(`exec sh -c '${script()} | sh -s -- --foreground --state mine'`);
    expect(await refused.ended).toBe(3);
    expect(refused.said()).toContain(`worker "${worker}" has been terminated`);
    const other = await joined();
    expect(other.worker).not.toBe(worker);
    await server.json(200, "POST", `/v1/workers/${other.worker}/drain`);
    expect(await other.machine.ended).toBe(0);
  });

  test("keeps its code to itself: no process has it as an argument, no other user its files", async () => {
    const { command, code, worker } = await invite();
    const machine = type(`${command} --foreground --state mine`);
    const looks = new Set<string>();
    for (let isJoined = false; !isJoined; ) {
      for (let look = 0; look < 20; look += 1) for (const line of allArguments()) looks.add(line);
      isJoined = (await workerNow(worker)).joinedAt !== null;
    }
    const seen = [...looks].filter((line) => line.includes(home) || line.includes("install.sh"));
    expect(seen.length).toBeGreaterThan(0);
    expect([...looks].filter((line) => line.includes(code))).toEqual([]);
    // A host stores what it has been told before it reports.
    await isIn(worker, "idle");
    for (const file of ["code", "secret", "setup.json"]) {
      expect(statSync(join(home, "mine", file)).mode & 0o077).toBe(0);
    }
    await server.json(200, "POST", `/v1/workers/${worker}/drain`);
    await machine.ended;
  });
});

test("of two clones of one host's state the first is told to end, then neither may start", async () => {
  const { machine, worker } = await joined("first", { DROVER_BOOT_ID: "boot of the first" });
  cpSync(join(home, "first"), join(home, "second"), { recursive: true });
  rmSync(join(home, "second", "agent.lock"));
  const start = (state: string) =>
    type(`exec sh -c '${script()} | sh -s -- --foreground --state ${state}'`, {
      DROVER_BOOT_ID: `boot of the ${state}`,
    });
  const second = start("second");
  expect(await machine.ended).toBe(3);
  expect(machine.said()).toContain("a later start of this host's agent has taken over");
  const again = start("first");
  expect(await again.ended).toBe(3);
  expect(again.said()).toContain("its disk, or its Drover state, was copied");
  // It drains: with nothing on it, the one that was listened to last is let go.
  await isIn(worker, "gone");
  expect(await second.ended).toBe(0);
  const kinds = (await workerNow(worker)).events.map(({ type: kind, code }: Json) => code ?? kind);
  expect(kinds).toEqual(expect.arrayContaining(["stale_incarnation", "Cloned", "cloned"]));
});

describe("the script", () => {
  const run = async (args: string, env: Record<string, string> = {}) => {
    const machine = type(`exec sh -c '${script()} | sh -s -- ${args}'`, env);
    return { code: await machine.ended, said: machine.said() };
  };

  test.each([
    ["a flag that is none", "--cod x", "Unknown option --cod"],
    ["a flag without its value", "--url", "--url needs a value"],
    ["a code that others could read", "--code x", "set DROVER_CODE instead"],
    ["no code, at first", "--foreground --state fresh", "get a code with `drover enroll`"],
    ["a state that a unit could not name", '--state "a b"', "must not contain blanks"],
    ["a Drover that is not there", "--state fresh --url http://127.0.0.1:9", "Cannot fetch the agent"],
  ])("says what is wrong with %s, and what to do", async (_what, args, text) => {
    const { code, said } = await run(args);
    expect([code, said]).toEqual([1, expect.stringContaining(text)]);
  });

  test("says what to do on a machine without Node, or with an old one", async () => {
    const bin = join(home, "bin");
    mkdirSync(bin);
    const tools = ["sh", "curl", "uname", "id", "cut", "sha256sum", "mkdir", "mv", "rm", "cat", "find"];
    const link = (tool: string) => `ln -s "$(command -v ${tool})" '${bin}/${tool}'`;
    expect(await type(tools.map(link).join(" && ")).ended).toBe(0);
    const none = await run("", { PATH: bin });
    expect([none.code, none.said]).toEqual([1, expect.stringContaining("needs Node 20 or newer")]);
    writeFileSync(join(bin, "node"), "#!/bin/sh\ncase $1 in -p) echo 18;; *) echo v18.0.0;; esac\n", {
      mode: 0o755,
    });
    const old = await run("", { PATH: bin });
    expect([old.code, old.said]).toEqual([1, expect.stringContaining("this is v18.0.0")]);
  });

  test.each([
    ["others can write to", "mkdir -m 777 odd"],
    ["is a link", "mkdir -m 700 there; ln -s there odd"],
    ...(process.geteuid?.() === 0 ? [["belongs to another user", "mkdir odd; chown 65534 odd"]] : []),
  ])("puts no agent into a directory that %s", async (_what, make = "") => {
    expect(await type(make).ended).toBe(0);
    const { code, said } = await run("--foreground --state odd");
    expect([code, said]).toEqual([1, expect.stringContaining("name another --state")]);
    expect(existsSync(join(home, "odd", "drover-agent.mjs"))).toBe(false);
  });

  test("takes no agent whose digest is another", async () => {
    const changed = `${script()} | sed "s/sha256=.[0-9a-f]*./sha256=0/" | sh -s -- --state fresh`;
    const machine = type(changed);
    expect(await machine.ended).toBe(1);
    expect(machine.said()).toContain("should have 0");
    expect(existsSync(join(home, "fresh", "drover-agent.mjs"))).toBe(false);
  });

  test("does nothing if its download breaks off", async () => {
    const whole = await (await fetch(`${server.url}/agent/install.sh`)).text();
    for (const part of [0.3, 0.6, 0.9]) {
      writeFileSync(join(home, "part.sh"), whole.slice(0, whole.length * part));
      await type("sh part.sh --state fresh").ended;
      expect(existsSync(join(home, "fresh"))).toBe(false);
    }
  });

  test("forgets what a machine is, and says what is left", async () => {
    const { machine, worker } = await joined();
    machine.end("SIGTERM");
    await machine.ended;
    const { code, said } = await run("--uninstall --state mine");
    expect([code, said]).toEqual([0, expect.stringContaining("is no longer a host")]);
    for (const file of ["code", "secret", "setup.json"])
      expect(existsSync(join(home, "mine", file))).toBe(false);
    await server.json(200, "POST", `/v1/workers/${worker}/kill`, {});
  });
});
