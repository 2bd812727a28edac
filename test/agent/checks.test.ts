import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lives, readProc } from "../../posix/proc.ts";
import type { CheckProbe, CheckRestart, CheckSpec } from "../../src/schema/run/checks.ts";
import type { CheckStatus } from "../../src/shared/health/words.ts";
import { type Bench, openBench, type RunningAgent, run, stop } from "./support/bench.ts";

// Checks against real processes (health.md#tries).

const ID = "build-17/main/1.1";

const NOBODY = { pid: 0, startTime: 0 };

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(async () => {
  const { faults } = bench.plane;
  await bench.close();
  expect(faults).toEqual([]);
});

const fileOf = (name: string) => join(bench.dir, name);
const SOON = { intervalMs: 50, timeoutMs: 5_000, passAfter: 1, failAfter: 1, startPeriodMs: 0 };
const check = (probe: CheckProbe, more: Partial<CheckSpec> = {}): CheckSpec => {
  return { name: "health", probe, ...SOON, ...more };
};
const command = (script: string, more: Partial<CheckSpec> = {}) => {
  return check({ command: { argv: ["sh", "-c", script] } }, more);
};

/** Orders a task with these checks. */
function order(argv: string[], checks: CheckSpec[], checkRestart?: CheckRestart): void {
  bench.plane.order([run(ID, argv, { checks, ...(checkRestart && { checkRestart }) })]);
}

/** Waits until its host says that the check has this status, and returns what it says. */
async function untilStatus(status: CheckStatus, name = "health") {
  const said = () => bench.plane.attempt(ID)?.checks?.find((one) => one.name === name);
  await bench.plane.until(`${name} is ${status}`, () => said()?.status === status);
  return said();
}

/** How many processes of checks live: all of the attempt, but for its shim and its main process. */
const others = () => bench.processes().length - 2;
const untilAlone = () => bench.plane.until("only the task is left", () => others() === 0);

/** A server that takes connections, and says nothing. */
async function listening() {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("it has no port");
  return { server, port: address.port };
}

async function freePort(): Promise<number> {
  const { server, port } = await listening();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A server that answers with the status in the file `status`, and with its headers as the body. */
const SERVER = `require("node:http").createServer((asked, answer) => {
  answer.statusCode = Number(require("node:fs").readFileSync(process.argv[2], "utf8"));
  answer.end(asked.method + " " + asked.url + " " + asked.headers["x-key"] + "\\n");
}).listen(Number(process.argv[1]), "127.0.0.1")`;

/** The server's next answers have this status. It must never read a file that is half written. */
function answerWith(status: string): void {
  writeFileSync(fileOf("next"), status);
  renameSync(fileOf("next"), fileOf("status"));
}

describe("a request to the task (health.md#http)", () => {
  test("its status goes to and fro with the answers, and a failure says what was answered", async () => {
    bench.start();
    const port = await freePort();
    answerWith("200");
    const http = { port, path: "/healthz", method: "GET" as const, headers: { "x-key": "k" } };
    order([process.execPath, "-e", SERVER, String(port), fileOf("status")], [check({ http })]);
    expect(await untilStatus("passing")).not.toHaveProperty("output");
    answerWith("503");
    expect((await untilStatus("critical"))?.output).toBe(
      `GET http://127.0.0.1:${port}/healthz was answered with 503 instead of 2xx: GET /healthz k`,
    );
    answerWith("429");
    await untilStatus("warning");
    answerWith("204");
    await untilStatus("passing");
  });

  test("a server that takes connections and never answers is late", async () => {
    bench.start();
    const { server, port } = await listening();
    order(["sleep", "60"], [check({ http: { port, path: "/", method: "GET" } }, { timeoutMs: 200 })]);
    expect((await untilStatus("critical"))?.output).toBe(
      `GET http://127.0.0.1:${port}/ was not answered within 200ms. Make it faster, or give the check ` +
        "a longer `timeout`",
    );
    server.close();
  });
});

test("a port that the task never opens: the text says what to do (health.md#tcp)", async () => {
  bench.start();
  const port = await freePort();
  order(["sleep", "60"], [check({ tcp: { port } })]);
  expect((await untilStatus("critical"))?.output).toBe(
    `connection refused on 127.0.0.1:${port}. Nothing listens there: let the task open this port, or ` +
      "correct the `port` of the check",
  );
});

describe("a command (health.md#command, health.md#command-of-a-check)", () => {
  test.each<[string, string, CheckStatus, string | undefined]>([
    ["0 passes", "echo fine", "passing", undefined],
    ["1 warns", "echo full >/dev/stderr; exit 1", "warning", "its command ended with exit code 1: full"],
    [
      "any other is critical",
      "echo bad >/dev/stdout; exit 2",
      "critical",
      "its command ended with exit code 2: bad",
    ],
    ["so is a signal", "kill -9 $$", "critical", "its command ended with exit code 137"],
  ])("its exit code says how the task is: %s", async (_, script, status, output) => {
    bench.start();
    order(["sleep", "60"], [command(script)]);
    expect((await untilStatus(status))?.output).toBe(output);
  });

  test("runs as the task does: in its directory, with its environment and its mark", async () => {
    bench.start();
    mkdirSync(fileOf("here"));
    const script = `pwd; echo "$WORD $DROVER_ATTEMPT_ID"; umask; [ -t 0 ]; wc -c </dev/stdin; exit 2`;
    const env = { WORD: "it's $HOME" };
    const more = { checks: [command(script)], env, dir: fileOf("here"), umask: "027" };
    bench.plane.order([run(ID, ["sleep", "60"], more)]);
    const { output = "" } = (await untilStatus("critical")) ?? {};
    expect(output.split("\n").map((line) => line.trim())).toEqual([
      `its command ended with exit code 2: ${fileOf("here")}`,
      `it's $HOME ${ID}`,
      "0027",
      "0",
    ]);
  });

  test("that never ends, and ignores SIGTERM, is ended with all that it has started", async () => {
    bench.start();
    const hidden = fileOf("hidden");
    const children = `sleep 600 & setsid sleep 600 & env -i sleep 600 & echo $! >${hidden}`;
    const script = `trap '' TERM HUP INT; echo begun; ${children}; wait`;
    order(["sleep", "60"], [command(script, { timeoutMs: 3_000, intervalMs: 60_000 })]);
    expect((await untilStatus("critical"))?.output).toBe(
      "its command has not ended within 3s. Make it faster, or give the check a longer `timeout`: begun",
    );
    await untilAlone();
    expect(lives(readProc(Number(readFileSync(hidden, "utf8"))) ?? NOBODY)).toBe(false);
  });

  test("that floods its output is ended, and its end is kept", async () => {
    bench.start();
    const script = "head -c 100000000 /dev/zero | tr '\\0' x; sleep 600";
    order(["sleep", "60"], [command(script, { timeoutMs: 60_000, intervalMs: 60_000 })]);
    const { output = "" } = (await untilStatus("critical")) ?? {};
    expect(output).toMatch(
      /^its command has written more than 1MiB and was ended\. Let it write less, .*: …x+$/,
    );
    expect(output.length).toBeLessThanOrEqual(1_024);
    await untilAlone();
  });

  test("that leaves a child behind has ended, and its child is ended", async () => {
    bench.start();
    order(["sleep", "60"], [command("sleep 600 & echo left; exit 3", { intervalMs: 60_000 })]);
    expect((await untilStatus("critical"))?.output).toBe("its command ended with exit code 3: left");
    await untilAlone();
  });

  test("that cannot be found is critical, and says so", async () => {
    bench.start();
    order(["sleep", "60"], [check({ command: { argv: ["no-such-program"] } })]);
    expect((await untilStatus("critical"))?.output).toMatch(
      /^its command ended with exit code 127: .*not found/,
    );
  });

  test("ends with its attempt", async () => {
    bench.start();
    const begun = fileOf("begun");
    order(["sleep", "60"], [command(`touch ${begun}; trap '' TERM; sleep 600`, { timeoutMs: 300_000 })]);
    await bench.plane.until("it has begun", () => others() > 0);
    bench.plane.order([stop(ID)]);
    expect(await bench.plane.untilStored(ID)).toMatchObject({ state: "exited", exit: { signal: "SIGTERM" } });
    expect(bench.processes()).toEqual([]);
  });
});

test("a task of the fake driver has no place for a command, and the text says so", async () => {
  bench.start();
  const script = { runForMs: 60_000, exitCode: 0, blockStartMs: 0, ignoreSignals: false, output: [] };
  const fake = { ...script, dieWithAgent: false };
  bench.plane.order([run(ID, ["true"], { fake, checks: [command("true")] })]);
  expect((await untilStatus("critical"))?.output).toMatch(
    /use `http` or `tcp`, or another driver than `fake`/,
  );
});

test("a check that fails too often stops its attempt, and a report says so (health.md#restart)", async () => {
  bench.start();
  const restart = { limit: 3, graceMs: 0, ignoreWarnings: false };
  const script = "trap 'exit 0' TERM; while :; do sleep 0.05; done";
  order(["sh", "-c", script], [command("echo no; exit 2", { failAfter: 100 })], restart);
  const attempt = await bench.plane.untilStored(ID);
  const output = "its command ended with exit code 2: no";
  const unhealthy = { check: "health", failures: 3, output };
  expect(attempt).toMatchObject({ state: "exited", exit: { code: 0 }, unhealthy });
  expect(attempt.stopped).toBeUndefined();
});

test("a check ends nothing of another host whose attempt has the same id (health.md#command)", async () => {
  const pids = fileOf("pids");
  bench.start();
  order(["sleep", "60"], [command(`echo $$ >>${pids}; exec sleep 600`, { timeoutMs: 300_000 })]);
  const pidText = () => (existsSync(pids) ? readFileSync(pids, "utf8") : "");
  await bench.plane.until("its check has begun", () => pidText().endsWith("\n"));
  const mine = readProc(Number(pidText()));
  const other = await openBench();
  try {
    other.start();
    other.plane.order([run(ID, ["sleep", "60"], { checks: [command("true")] })]);
    const said = () => other.plane.attempt(ID)?.checks?.[0]?.status;
    await other.plane.until("the other one's check passes", () => said() === "passing");
    expect(lives(mine ?? NOBODY)).toBe(true);
  } finally {
    await other.close();
  }
});

describe("an agent that is killed (health.md#survives)", () => {
  async function killed({ child, ended }: RunningAgent): Promise<void> {
    child.kill("SIGKILL");
    await ended;
  }

  test("its next start goes on with the checks, and ends what a command has left", async () => {
    const agent = bench.start();
    const pids = fileOf("pids");
    const script = `[ -e ${fileOf("go")} ] && exit 0; trap '' TERM HUP; echo $$ >>${pids}; sleep 600`;
    order(["sleep", "60"], [command(script, { timeoutMs: 300_000 })]);
    await bench.plane.until("it has begun", () => others() >= 2);
    await killed(agent);
    expect(others()).toBeGreaterThanOrEqual(2);
    writeFileSync(fileOf("go"), "");
    bench.start();
    await untilStatus("passing");
    await untilAlone();
    expect(readFileSync(pids, "utf8").trim().split("\n")).toHaveLength(1);
  });

  test("its next start counts anew, and still stops a task whose check fails", async () => {
    const agent = bench.start();
    const restart = { limit: 2, graceMs: 0, ignoreWarnings: false };
    order(["sleep", "60"], [command(`[ ! -e ${fileOf("bad")} ]`, { failAfter: 1 })], restart);
    await untilStatus("passing");
    await killed(agent);
    writeFileSync(fileOf("bad"), "");
    bench.start();
    expect(await bench.plane.untilStored(ID)).toMatchObject({ unhealthy: { check: "health", failures: 2 } });
  });
});
