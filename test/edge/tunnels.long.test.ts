import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient } from "../../client/index.ts";
import { until } from "../local/support/scratch.ts";
import {
  drover,
  endDrover,
  killIfThere,
  livingOf,
  makeHome,
  type RunningDrover,
  startDrover,
} from "./support/drover.ts";
import { endOf } from "./support/ends.ts";

// Commands inside runs, copies and ports, through a real Drover and real agents (tunnels.md).

let home: string;
let up: RunningDrover;
beforeAll(async () => {
  home = makeHome("tunnels");
  up = await startDrover(home);
});
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

/** A run that runs until it is aborted. */
async function running(id: string, more: object = {}): Promise<string> {
  const argv = ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.05; done"];
  await up.json(201, "POST", "/v1/runs", {
    id,
    argv,
    env: { COLOR: "blue" },
    resources: { vcpus: 0 },
    ...more,
  });
  const run = await until(`${id} is placed`, async () => {
    const now = await up.json(200, "GET", `/v1/runs/${id}?wait=30s&state=running`);
    return now.state === "pending" ? undefined : now;
  });
  expect(run.state).toBe("running");
  return id;
}

/** What a command has said, without how it had to wait: on a busy machine it says that, too. */
function unhurried(stderr: string): string {
  const waits = /^drover: (?:Copying |The machine of the run is not connected\.|It is connected\.).*\n/gm;
  return stderr.replaceAll(waits, "");
}

const client = () => createClient({ url: up.url, token: up.token });
const exec = (run: string, script: string, flags: string[] = []) =>
  drover(home, ["exec", ...flags, run, "--", "sh", "-c", script]);

/** The pid of the agent on the machine of a run, as its lock says. */
async function agentOf(run: string): Promise<number> {
  const { placements } = await up.json(200, "GET", `/v1/runs/${run}`);
  const { instance } = await up.json(200, "GET", `/v1/workers/${placements[0].worker}`);
  const lock = join(up.stateDir, "instances", instance, "agent", "agent.lock");
  return Number(/\d+/.exec(readFileSync(lock, "utf8"))?.[0]);
}

describe("drover exec", () => {
  test("runs beside the task: its directory, variables and marks (tunnels.md#inside)", async () => {
    await running("inside");
    const { code, stdout, stderr } = await exec(
      "inside",
      'echo "$COLOR $DROVER_RUN_ID"; pwd; echo no >&2; exit 7',
    );
    expect(code).toBe(7);
    expect(unhurried(stderr)).toBe("no\n");
    const [first, dir] = stdout.toString().split("\n");
    expect(first).toBe("blue inside");
    const { tasks } = await up.json(200, "GET", "/v1/runs/inside");
    expect(tasks[0].attempts).toHaveLength(1);
    expect(existsSync(dir ?? "")).toBe(true);
  });

  test("takes the environment only as the user of the run, whatever is in it", async () => {
    await running("env", {
      env: { COLOR: "two\nlines, 'quoted' $HOME", PATH: "/nowhere:/usr/bin:/bin" },
    });
    const { code, stdout, stderr } = await exec("env", 'printf "%s|%s" "$COLOR" "$PATH"');
    expect([code, stdout.toString()], stderr).toEqual([
      0,
      "two\nlines, 'quoted' $HOME|/nowhere:/usr/bin:/bin",
    ]);
    const { stdout: again } = await exec("env", "cat", ["-i"]);
    expect(again.toString()).toBe("");
  });

  test.each([
    ["the end by a signal is told as a shell does", "kill -TERM $$", 143],
    ["a command that is not there is 127", "exec nothing-of-this-name", 127],
  ])("%s", async (_what, script, code) => {
    if (!existsSync(join(home, "codes"))) {
      mkdirSync(join(home, "codes"));
      await running("codes");
    }
    expect((await exec("codes", script)).code).toBe(code);
  });

  test("passes input on, and its end", async () => {
    await running("input");
    const child = spawn(process.execPath, ["bin/drover.mjs", "exec", "-i", "input", "--", "sha1sum"], {
      env: { PATH: process.env.PATH, DROVER_STATE: up.stateDir },
      stdio: ["pipe", "pipe", "inherit"],
    });
    let said = "";
    child.stdout.on("data", (bytes) => {
      said += bytes;
    });
    child.stdin.end(Buffer.alloc(3_000_000, "drover"));
    expect(await new Promise((resolve) => child.once("close", resolve))).toBe(0);
    expect(said).toMatch(/^[0-9a-f]{40} /);
  });

  test("large output comes whole, and a reader that is slow makes the command wait", async () => {
    await running("large");
    let received = 0;
    const command = client().runs.exec("large", {
      argv: ["sh", "-c", "head -c 40000000 /dev/zero"],
      stdout: async (bytes) => {
        received += bytes.length;
        await new Promise((go) => setImmediate(go));
      },
    });
    expect(await command.ended).toEqual({ exitCode: 0, signal: null });
    expect(received).toBe(40_000_000);
  });

  test("many at once, each with its own output", async () => {
    await running("many");
    const ended = await Promise.all(
      Array.from({ length: 10 }, (_, i) => exec("many", `echo ${i}; exit ${i}`)),
    );
    expect(ended.map(({ code, stdout }) => [code, stdout.toString()])).toEqual(
      Array.from({ length: 10 }, (_, i) => [i, `${i}\n`]),
    );
  });

  test("ends with the run, and leaves no process", async () => {
    await running("over");
    const begun = join(home, "over.begun");
    const going = exec("over", `: >${begun}; sleep 1000`);
    await until("the command runs", () => existsSync(begun) || undefined);
    await up.json(200, "POST", "/v1/runs/over/abort?wait=30s", {});
    const { code, stderr } = await going;
    expect(code, stderr).not.toBe(0);
    await until("nothing of it lives", () => livingOf(up, "over").length === 0 || undefined);
  });

  test.each([
    ["a run that is not there", ["exec", "nobody", "--", "true"], /no run "nobody"/],
    ["a task that it has not", ["exec", "--task", "web", "refusals", "--", "true"], /no task called "web"/],
    ["no command", ["exec", "refusals"], /missing/i],
    ["a terminal without one", ["exec", "-t", "refusals", "--", "sh"], /input or output is none/],
  ])("refuses %s", async (_what, words, text) => {
    if (_what === "a run that is not there") await running("refusals");
    const { code, stderr } = await drover(home, words);
    expect([code, stderr]).toEqual([125, expect.stringMatching(text)]);
  });

  test("refuses a run that has ended", async () => {
    await up.json(201, "POST", "/v1/runs", { id: "ended", argv: ["true"] });
    await endOf(up, "ended");
    const { code, stderr } = await exec("ended", "true");
    expect([code, stderr]).toEqual([125, expect.stringContaining("the run has ended")]);
  });

  test("needs the scope runs:exec, and is in the audit log", async () => {
    await running("scoped");
    const made = await up.json(201, "POST", "/v1/tokens", {
      name: "reader",
      scopes: ["runs:read", "runs:write"],
    });
    const { code, stderr } = await drover(home, ["exec", "scoped", "--", "true"], {
      DROVER_URL: up.url,
      DROVER_TOKEN: made.secret ?? made.token,
    });
    expect([code, stderr]).toEqual([125, expect.stringContaining("runs:exec")]);
    expect((await exec("scoped", "true")).code).toBe(0);
    const { items } = await up.json(200, "GET", "/v1/audit?action=run.tunnel");
    const its = items.filter(({ run }: { run: string }) => run === "scoped");
    expect(its).toMatchObject([{ action: "run.tunnel", reason: "exec", run: "scoped" }]);
    const { items: events } = await up.json(200, "GET", "/v1/runs/scoped/events");
    expect(events.map(({ type }: { type: string }) => type)).toContain("Tunnel Opened");
  });
});

describe("after SIGKILL in the middle (tunnels.md#survives)", () => {
  /** Says that it has begun, and counts up to 40, one number each 50 ms. */
  const begun = (id: string) => join(home, `${id}.begun`);
  const count = (id: string) =>
    `: >${begun(id)}; i=0; while [ $i -lt 40 ]; do i=$((i+1)); echo $i; sleep 0.05; done; exit 5`;
  const NUMBERS = Array.from({ length: 40 }, (_, i) => `${i + 1}\n`).join("");

  test("of the agent, the command goes on, and all of its output arrives once", async () => {
    await running("agent-dies");
    const going = exec("agent-dies", count("agent-dies"));
    await until("the command runs", () => existsSync(begun("agent-dies")) || undefined);
    killIfThere(await agentOf("agent-dies"));
    const { code, stdout, stderr } = await going;
    expect([code, stdout.toString()], stderr).toEqual([5, NUMBERS]);
  });

  test("of the control plane, the command goes on, and all of its output arrives once", async () => {
    await running("plane-dies");
    const going = exec("plane-dies", count("plane-dies"));
    await until("the command runs", () => existsSync(begun("plane-dies")) || undefined);
    killIfThere(-up.pid);
    await up.ended;
    up = await startDrover(home);
    const { code, stdout, stderr } = await going;
    expect([code, stdout.toString()], stderr).toEqual([5, NUMBERS]);
  });
});

describe("drover cp", () => {
  test("brings a directory there and back: names, links, modes", async () => {
    await running("copies");
    const from = join(home, "fixtures");
    mkdirSync(join(from, "sub"), { recursive: true });
    writeFileSync(join(from, "run.sh"), "echo hi\n", { mode: 0o755 });
    writeFileSync(join(from, "sub", "a\nb"), "two lines\n");
    symlinkSync("run.sh", join(from, "link"));
    for (const words of [
      ["cp", "fixtures", "copies:there"],
      ["cp", "copies:there", "back"],
    ]) {
      const { code, stderr } = await drover(home, words);
      expect([code, unhurried(stderr)]).toEqual([0, ""]);
    }
    expect(readFileSync(join(home, "back", "sub", "a\nb"), "utf8")).toBe("two lines\n");
    const { stdout } = await exec("copies", "ls -l there | cut -c1-10; readlink there/link; ls -a");
    expect(stdout.toString()).toContain("-rwxr-xr-x");
    expect(stdout.toString()).toContain("run.sh\n");
    expect(stdout.toString()).not.toContain(".drover-cp-");
  });

  test("puts a file into a directory that is there, and replaces a file", async () => {
    await running("places");
    writeFileSync(join(home, "one"), "first\n");
    await exec("places", "mkdir box; echo old >one");
    for (const to of ["places:box", "places:one"])
      expect((await drover(home, ["cp", "one", to])).code).toBe(0);
    expect((await exec("places", "cat box/one one")).stdout.toString()).toBe("first\nfirst\n");
  });

  test.each([
    ["what the kernel makes", ["cp", "no-copies:/proc", "x"], /made by the kernel/],
    ["what is not there", ["cp", "no-copies:nothing", "x"], /there is no nothing/],
    ["into a directory that is not there", ["cp", "here", "no-copies:/nowhere/x"], /no directory \/nowhere/],
    ["what is not there, here", ["cp", "nothing", "no-copies:x"], /There is no nothing/],
    ["between two paths here", ["cp", "a", "b"], /must be in a run/],
    ["a path without a name", ["cp", "no-copies:..", "x"], /does not end with a name/],
  ])("refuses %s", async (what, words, text) => {
    if (what === "what the kernel makes") await running("no-copies");
    writeFileSync(join(home, "here"), "");
    const { code, stderr } = await drover(home, words);
    expect([code, stderr]).toEqual([125, expect.stringMatching(text)]);
    expect(existsSync(join(home, "x"))).toBe(false);
  });
});

describe("drover port-forward", () => {
  test("carries connections to a port of the machine, until the run ends", async () => {
    await running("ports");
    // On one laptop, the machine of the run is this one.
    const server = createServer((socket) => {
      socket.write("ready\n");
      socket.on("data", (bytes) => socket.end(`you said ${bytes}`));
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    const { port } = server.address() as AddressInfo;
    const child = spawn(process.execPath, ["bin/drover.mjs", "port-forward", "ports", `0:${port}`], {
      env: { PATH: process.env.PATH, DROVER_STATE: up.stateDir },
      stdio: ["ignore", "inherit", "pipe"],
    });
    const ended = new Promise((resolve) => child.once("exit", resolve));
    let said = "";
    child.stderr.on("data", (bytes) => {
      said += bytes;
    });
    const here = await until("it listens", () => /127\.0\.0\.1:(\d+) leads/.exec(said)?.[1]);
    const { connect } = await import("node:net");
    const talks = Array.from(
      { length: 5 },
      (_, i) =>
        new Promise<string>((resolve, reject) => {
          const socket = connect(Number(here), "127.0.0.1");
          let text = "";
          socket.on("data", (bytes) => {
            text += bytes;
            if (text === "ready\n") socket.write(`${i}`);
          });
          socket.once("error", reject).once("close", () => resolve(text));
        }),
    );
    expect(await Promise.all(talks)).toEqual(Array.from({ length: 5 }, (_, i) => `ready\nyou said ${i}`));
    await up.json(200, "POST", "/v1/runs/ports/abort?wait=30s", {});
    expect(await ended).toBe(125);
    server.close();
  });

  test("refuses a port that is taken, and what is no port", async () => {
    const server = createServer();
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    const { port } = server.address() as AddressInfo;
    const taken = await drover(home, ["port-forward", "any", String(port)]);
    server.close();
    expect([taken.code, taken.stderr]).toEqual([
      125,
      expect.stringContaining("another program listens there"),
    ]);
    const odd = await drover(home, ["port-forward", "any", "80:99999"]);
    expect([odd.code, odd.stderr]).toEqual([125, expect.stringContaining("It must be a port")]);
  });
});
