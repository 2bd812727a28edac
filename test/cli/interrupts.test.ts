import { afterEach, beforeEach, expect, test } from "vitest";
import { type Bench, openBench, type Running } from "./support/command.ts";
import { statusOf } from "./support/control-plane.ts";

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
  bench.plane.ends = undefined;
  bench.plane.logsEnded = false;
});
afterEach(() => bench.close());

const LOGS = /\/logs\/main\/stdout$/;
const ABORT = /\/abort$/;

/** Starts a run and waits until its output is being followed. */
async function begin() {
  const running = bench.start(["run", "--id", "r1", "--", "x"]);
  await bench.plane.requests("GET", LOGS);
  return running;
}

// Issue 2, item 6: first Ctrl-C aborts and waits, second detaches. The others end a local command, too.
test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const)(
  "%s aborts the run, waits for its end and its last output, and exits with %i",
  async (signal, code) => {
    const { plane } = bench;
    plane.on("POST", ABORT, (_seen, res) => res.writeHead(200).end(JSON.stringify(plane.runs.get("r1"))));
    const running = await begin();
    running.child.kill(signal);
    await running.says(/Aborting run r1 and waiting for it to end/);
    const [abort] = await plane.requests("POST", ABORT);
    expect(abort?.body).toEqual({ reason: `${signal} to drover run` });
    plane.write("stdout", "cleaning up\n");
    await running.says(/cleaning up/, "stdout");
    expect(running.child.exitCode).toBe(null);
    plane.endLogs();
    plane.end({ state: "aborted", abort: { by: "test", reason: "" } });
    expect((await running.ended).code).toBe(code);
  },
);

/** Presses a key until the command has ended: how often one is heard, its tests say. */
async function pressUntilEnded({ child, ended }: Running, signal: NodeJS.Signals) {
  const press = setInterval(() => child.kill(signal), 50);
  return await ended.finally(() => clearInterval(press));
}

test("P7: a second Ctrl-C does not wait for the end, and says that the run is being aborted", async () => {
  const { plane } = bench;
  plane.on("POST", ABORT, (_seen, res) => res.writeHead(200).end(JSON.stringify(plane.runs.get("r1"))));
  const running = await begin();
  running.child.kill("SIGINT");
  await running.says(/Aborting run r1/);
  await plane.requests("POST", ABORT);
  const { code, stderr } = await pressUntilEnded(running, "SIGINT");
  expect(code).toBe(130);
  expect(stderr).toMatch(/Run r1 is being aborted\. To see its end: drover status r1\n$/);
  expect(stderr).not.toMatch(/alone|drover logs/);
});

test("P7: a second Ctrl-C while nothing answers says that the run may go on", async () => {
  const { plane } = bench;
  plane.on("POST", ABORT, () => {});
  const running = await begin();
  running.child.kill("SIGINT");
  await plane.requests("POST", ABORT);
  const { code, stderr } = await pressUntilEnded(running, "SIGINT");
  expect(code).toBe(130);
  expect(stderr).toMatch(/Drover has not confirmed the abort of run r1, .*: drover abort r1\n$/);
});

test("P7: Ctrl-\\ leaves the run running, and says how to come back to it", async () => {
  const { plane } = bench;
  const running = await begin();
  running.child.kill("SIGQUIT");
  const ended = await running.ended;
  expect(ended.code).toBe(131);
  expect(ended.stderr).toBe("drover: Detached. Run r1 goes on: drover attach r1, drover abort r1\n");
  expect(plane.seen.filter(({ path }) => ABORT.test(path))).toEqual([]);
});

test("P7: Ctrl-\\ before the submission is answered waits until the run is there", async () => {
  const { plane } = bench;
  let accept = () => {};
  const accepted = new Promise<void>((resolve) => {
    accept = resolve;
  });
  plane.on(
    "POST",
    /^\/v1\/runs$/,
    async (_seen, res) => {
      await accepted;
      res.writeHead(201).end(JSON.stringify(statusOf("r1", { state: "running" })));
    },
    1,
  );
  const running = bench.start(["run", "--id", "r1", "--", "x"]);
  await plane.requests("POST", /^\/v1\/runs$/);
  running.child.kill("SIGQUIT");
  accept();
  expect(await running.ended).toMatchObject({
    code: 131,
    stderr: expect.stringMatching(/^drover: Detached/),
  });
});

test("P7: one press that arrives twice, as it does below npx, is one", async () => {
  const { plane } = bench;
  plane.on("POST", ABORT, (_seen, res) => res.writeHead(200).end(JSON.stringify(plane.runs.get("r1"))));
  const running = await begin();
  // Two signals of a kind might be merged to one, so these are two of different kinds.
  running.child.kill("SIGINT");
  running.child.kill("SIGTERM");
  await plane.requests("POST", ABORT);
  plane.write("stdout", "cleaning up\n");
  await running.says(/cleaning up/, "stdout");
  plane.endLogs();
  plane.end({ state: "aborted", abort: { by: "test", reason: "" } });
  expect((await running.ended).stderr).toMatch(/Run r1 is aborted\.\n$/);
});

test("P7: the help says what Ctrl-C and Ctrl-\\ do, and what they exit with", async () => {
  const help = (await bench.run(["run", "--help"])).stdout.toString();
  expect(help).toMatch(/On a terminal, Ctrl-C asks: go on, abort the run, or detach from it;/);
  expect(help).toMatch(/one\nmore interrupt stops waiting\. .* Ctrl-\\ \(SIGQUIT\)\ndetaches at once/);
  expect(help).toMatch(/130 for Ctrl-C, 131 for Ctrl-\\\n/);
});

test("Ctrl-C before the submission is answered aborts the run that it makes", async () => {
  const { plane } = bench;
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  plane.on(
    "POST",
    /^\/v1\/runs$/,
    async (_seen, res) => {
      await released;
      // The connection breaks although the run is stored: the command asks again, and finds it.
      res.destroy();
    },
    1,
  );
  const running = bench.start(["run", "--id", "r1", "--", "x"]);
  await plane.requests("POST", /^\/v1\/runs$/);
  running.child.kill("SIGINT");
  await running.says(/Aborting run r1/);
  release();
  await plane.requests("POST", ABORT);
  expect((await running.ended).code).toBe(130);
});

test("a run that ended before it could be aborted keeps its own exit code", async () => {
  const { plane } = bench;
  plane.on("POST", ABORT, (_seen, res) => {
    plane.end({ state: "complete", exitCode: 5 });
    plane.endLogs();
    res.writeHead(200).end(JSON.stringify(plane.runs.get("r1")));
  });
  const running = await begin();
  running.child.kill("SIGINT");
  expect((await running.ended).code).toBe(5);
});
