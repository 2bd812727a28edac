import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AttemptOrder } from "../../src/schema/host.ts";
import { type Bench, openBench, run, stop } from "./support/bench.ts";
import { type FileServer, openFileServer, sha256Of } from "./support/file-server.ts";

// What becomes of a task in each of its phases when the agent is killed, and when the machine boots anew
// (host-protocol.md#survives; tasks.md#restore).

const [SETUP, MAIN, AGAIN, CLEANUP] = ["setup/1.1", "main/1.1", "main/1.2", "cleanup/1.1"].map(
  (name) => `build-17/${name}`,
) as [string, string, string, string]; // there are four

const CONTENT = Buffer.from("the artifact\n");

let bench: Bench;
let server: FileServer;
beforeEach(async () => {
  [bench, server] = await Promise.all([openBench(), openFileServer()]);
});
afterEach(async () => {
  const { faults } = bench.plane;
  await Promise.all([bench.close(), server.close()]);
  expect(faults).toEqual([]);
});

const fileOf = (name: string) => join(bench.dir, name);
const linesOf = (name: string) => (existsSync(fileOf(name)) ? readFileSync(fileOf(name), "utf8") : "");
const begun = (id: string) => bench.plane.stored(id).includes("ready");

/** A task that notes each of its starts, and ends when `go` is there. */
function task(id: string, more: Parameters<typeof run>[2] = {}): ReturnType<typeof run> {
  const [, name = ""] = id.split("/");
  const script = `echo ${name} >>$DIR/starts; echo ready; while ! [ -e $DIR/go ]; do sleep 0.02; done`;
  return run(id, ["sh", "-c", script], { name, env: { DIR: bench.dir }, ...more });
}

const ended = (id: string, code: number) =>
  run(id, ["sh", "-c", `echo main >>$DIR/starts; exit ${code}`], { name: "main", env: { DIR: bench.dir } });

/** One phase of a task, and what becomes of its attempts. */
interface Phase {
  /** Brings a task into it. */
  enter: () => Promise<unknown>;
  /** What the next start of the agent first says of it, in the same boot. */
  found: Record<string, string>;
  /** What is ordered then; absent: nothing new. */
  next?: () => AttemptOrder[];
  /** How the attempts end. */
  restarted: Record<string, object>;
  rebooted: Record<string, object>;
  /** The starts of tasks, all in all: none is started twice. */
  starts: string;
  /** The signals that it has got. */
  signals?: string;
}

const COMPLETE = { state: "exited", exit: { code: 0, signal: null } };
const GONE = { state: "gone" };

const PHASES: Record<string, Phase> = {
  "preparing, with half of a download": {
    async enter() {
      server.on("/tool", (_, response) => {
        response.writeHead(200, { "content-length": CONTENT.length });
        response.write(CONTENT.subarray(0, 4));
      });
      const artifacts = [{ url: `${server.url}/tool`, sha256: sha256Of(CONTENT), to: "in/" }];
      bench.plane.order([task(MAIN, { artifacts })]);
      await expect.poll(() => server.requests.length).toBe(1);
      server.on("/tool", CONTENT);
    },
    found: {},
    restarted: { [MAIN]: COMPLETE },
    rebooted: { [MAIN]: COMPLETE },
    starts: "main\n",
  },
  running: {
    async enter() {
      bench.plane.order([task(MAIN)]);
      await bench.plane.until("it runs", () => begun(MAIN));
    },
    found: { [MAIN]: "running" },
    restarted: { [MAIN]: COMPLETE },
    rebooted: { [MAIN]: GONE },
    starts: "main\n",
  },
  "stopping, within its kill timeout": {
    async enter() {
      const deaf = "trap 'echo term >>$DIR/signals' TERM; echo ready; while :; do sleep 0.05; done";
      bench.plane.order([run(MAIN, ["sh", "-c", deaf], { env: { DIR: bench.dir } })]);
      await bench.plane.until("it runs", () => begun(MAIN));
      bench.plane.order([stop(MAIN, { timeoutMs: 45_000 })]);
      await expect.poll(() => linesOf("signals")).toBe("term\n");
    },
    found: { [MAIN]: "stopping" },
    restarted: { [MAIN]: { exit: { code: null, signal: "SIGKILL" }, kill: { tries: 1, treeGone: true } } },
    rebooted: { [MAIN]: GONE },
    starts: "",
    signals: "term\n",
  },
  "waiting between two attempts": {
    async enter() {
      bench.plane.order([ended(MAIN, 3)]);
      await bench.plane.untilStored(MAIN);
    },
    found: { [MAIN]: "exited" },
    next: () => [ended(MAIN, 3), task(AGAIN)],
    restarted: { [MAIN]: { exit: { code: 3 } }, [AGAIN]: COMPLETE },
    rebooted: { [MAIN]: GONE, [AGAIN]: COMPLETE },
    starts: "main\nmain\n",
  },
  "waiting for its time, as it was ordered": {
    async enter() {
      bench.plane.order([{ ...task(MAIN), startInMs: 3_600_000 }]);
      const waits = () => bench.plane.attempt(MAIN)?.waits;
      await bench.plane.until("it waits", waits);
    },
    found: {},
    next: () => [{ ...task(MAIN), startInMs: 100 }],
    restarted: { [MAIN]: COMPLETE },
    rebooted: { [MAIN]: COMPLETE },
    starts: "main\n",
  },
  "waiting at the gate of a prestart task": {
    async enter() {
      bench.plane.order([task(SETUP)]);
      await bench.plane.until("its prestart task runs", () => begun(SETUP));
    },
    found: { [SETUP]: "running" },
    next: () => [task(SETUP), task(MAIN)],
    restarted: { [SETUP]: COMPLETE, [MAIN]: COMPLETE },
    rebooted: { [SETUP]: GONE, [MAIN]: COMPLETE },
    starts: "setup\nmain\n",
  },
  "over, while its poststop task runs": {
    async enter() {
      bench.plane.order([ended(MAIN, 3)]);
      await bench.plane.untilStored(MAIN);
      bench.plane.order([ended(MAIN, 3), task(CLEANUP)]);
      await bench.plane.until("its poststop task runs", () => begun(CLEANUP));
    },
    found: { [MAIN]: "exited", [CLEANUP]: "running" },
    restarted: { [MAIN]: { exit: { code: 3 } }, [CLEANUP]: COMPLETE },
    rebooted: { [MAIN]: GONE, [CLEANUP]: GONE },
    starts: "main\ncleanup\n",
  },
};

describe.each(Object.entries(PHASES))("a task that is %s", (_, phase) => {
  test.each([
    ["the agent is killed and starts again", "restarted", {}],
    ["the machine boots anew", "rebooted", { DROVER_BOOT_ID: "boot-2" }],
  ] as const)("when %s", async (_what, how, env) => {
    const agent = bench.start();
    await phase.enter();
    agent.child.kill("SIGKILL");
    await agent.ended;
    const before = bench.plane.incarnation;
    bench.start(env);
    const first = await bench.plane.until("the next start reports", () =>
      bench.plane.reports.find(({ incarnation }) => incarnation > before),
    );
    const told = Object.fromEntries(first.attempts.map(({ id, state }) => [id, state]));
    const gone = Object.fromEntries(Object.keys(phase.found).map((id) => [id, "gone"]));
    expect(told).toEqual(how === "restarted" ? phase.found : gone);
    if (phase.next !== undefined) bench.plane.order(phase.next());
    writeFileSync(fileOf("go"), "");
    for (const [id, end] of Object.entries(phase[how])) {
      const over = () => ["exited", "gone"].includes(bench.plane.attempt(id)?.state ?? "");
      await bench.plane.until(`${id} is over`, over);
      expect(bench.plane.attempt(id)).toMatchObject(end);
    }
    expect([linesOf("starts"), linesOf("signals")]).toEqual([phase.starts, phase.signals ?? ""]);
    // The boot is only said to be another one: what it would have ended lives.
    if (how === "restarted") expect(bench.processes()).toEqual([]);
  });
});
