import { afterEach, beforeEach, expect, test } from "vitest";
import { type Bench, openBench } from "./support/command.ts";

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
    await running.says(/Aborting run r1 and waiting for its end/);
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

test("a second Ctrl-C leaves the run alone and says how to come back to it", async () => {
  const { plane } = bench;
  plane.on("POST", ABORT, (_seen, res) => res.writeHead(200).end(JSON.stringify(plane.runs.get("r1"))));
  const running = await begin();
  running.child.kill("SIGINT");
  await running.says(/Aborting run r1/);
  await plane.requests("POST", ABORT);
  running.child.kill("SIGINT");
  const ended = await running.ended;
  expect(ended.code).toBe(130);
  expect(ended.stderr).toMatch(/Left run r1 alone.*drover logs -f r1/);
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
