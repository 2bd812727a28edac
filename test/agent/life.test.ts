import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { enrollmentCode } from "../../src/signing/code.ts";
import { type Bench, openBench, type RunningAgent, run } from "./support/bench.ts";
import { SIGNING_KEY } from "./support/fake-plane.ts";

const ID = "build-17/main/1.1";

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(async () => {
  const { faults } = bench.plane;
  await bench.close();
  expect(faults).toEqual([]);
});

/** An agent with one attempt that has said that it is ready. */
async function busyAgent(script = "echo ready; exec sleep 300"): Promise<RunningAgent> {
  const agent = bench.start();
  bench.plane.order([run(ID, ["sh", "-c", script])]);
  await bench.plane.until("it says that it is ready", () => bench.plane.stored(ID).includes("ready"));
  return agent;
}

describe("enrolling (host-protocol.md#joining)", () => {
  test("the secret is stored for nobody else before it is sent, and sent again after a crash", async () => {
    let lost = 0;
    bench.plane.override = ({ path }) => {
      if (path !== "/v1/hosts/enroll" || lost > 0) return undefined;
      lost += 1;
      return { status: 503, body: { detail: "later" } };
    };
    const agent = bench.start({ DROVER_RESOURCES: '{"vcpus":4,"memoryBytes":8,"diskBytes":9,"gpus":1}' });
    await bench.plane.until("the first try", () => lost === 1);
    agent.child.kill("SIGKILL");
    await agent.ended;
    const secretFile = join(bench.stateDir, "secret");
    const secret = readFileSync(secretFile, "utf8").trim();
    const salt = readFileSync(join(bench.stateDir, "salt"), "utf8").trim();
    expect(statSync(secretFile).mode & 0o777).toBe(0o600);
    bench.start({ DROVER_RESOURCES: '{"vcpus":4,"memoryBytes":8,"diskBytes":9,"gpus":1}' });
    const enrolled = await bench.plane.until("the second", () => bench.plane.enrolled[0]);
    expect(enrolled).toMatchObject({ salt, bootId: "boot-1", agent: { os: "linux" } });
    expect(bench.plane.secret).toBe(secret);
    expect(enrolled.resources).toEqual({ vcpus: 4, memoryBytes: 8, diskBytes: 9, gpus: 1 });
  });

  test.each([403, 410])("a code that is refused with %i ends the agent", async (status) => {
    bench.plane.override = () => ({ status, body: { code: "x", detail: "This code is over." } });
    const agent = bench.start();
    expect(await agent.ended).toEqual({ code: 3, signal: null });
    expect(agent.stderr()).toContain("This code is over.");
    expect(bench.plane.calls.length).toBe(1);
  });

  test("Retry-After is obeyed", async () => {
    const at: number[] = [];
    bench.plane.override = () => {
      at.push(performance.now());
      return at.length > 1 ? undefined : { status: 429, body: { detail: "later", retryAfterMs: 1_000 } };
    };
    bench.start();
    await bench.plane.until("the second try", () => at.length > 1);
    expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(990);
  });

  test.each([
    ["no URL", ["--state", "x"], "--url"],
    ["a URL that is none", ["--url", "::", "--state", "x"], "--url"],
    ["no state", ["--url", "http://127.0.0.1:1"], "--state"],
    ["an unknown option", ["--urll", "x"], "--urll"],
  ])("a command line with %s is explained", async (_, args, named) => {
    const agent = bench.startWith(args);
    expect((await agent.ended).code).toBe(2);
    expect(agent.stderr()).toContain(named);
  });
});

describe("a machine whose worker was forgotten", () => {
  const secretOf = () => readFileSync(join(bench.stateDir, "secret"), "utf8").trim();
  /** A host of w-1 that nobody knows any more, with a code for w-2. */
  async function forgotten(secret = ""): Promise<RunningAgent> {
    const first = bench.start();
    bench.plane.order([]);
    await bench.plane.until("it has a lease", () => bench.plane.reports.some((one) => one.ordersSeen > 0));
    first.child.kill("SIGKILL");
    await first.ended;
    writeFileSync(join(bench.dir, "code"), `${enrollmentCode("w-2", Date.UTC(2100, 0), SIGNING_KEY)}\n`);
    bench.plane.secret = secret;
    bench.plane.override = ({ path }) =>
      path.endsWith("/join") ? { status: 401, signedBy: "nobody", body: { detail: "unknown" } } : undefined;
    return bench.startUnlocked();
  }

  test("becomes the host of another by the code that it has, once its lease is over", async () => {
    bench.plane.leaseMs = 2_000;
    await forgotten();
    await bench.plane.until("it enrolls", () => bench.plane.enrolled.length === 2);
    const [first, second] = bench.plane.enrolled;
    expect(second?.salt).toBe(first?.salt);
    const { length } = bench.plane.reports;
    await bench.plane.until("it reports as the new one", () => bench.plane.reports.length > length);
    expect(secretOf()).toBe(bench.plane.secret);
  });

  test("stays what it was while its lease lasts", async () => {
    const agent = await forgotten();
    // Nobody who knows its secret answers: so it says nothing but hello.
    const { greeted } = bench.plane;
    await bench.plane.until("it has tried again", () => bench.plane.greeted > greeted + 1);
    expect(bench.plane.enrolled.length).toBe(1);
    expect(agent.stderr()).toContain("does Drover no longer know this host?");
  });

  test("stays what it was when its code is refused", async () => {
    bench.plane.leaseMs = 2_000;
    const agent = await forgotten("of another machine");
    const secret = secretOf();
    const tries = () => bench.plane.calls.filter(({ path }) => path.endsWith("/enroll")).length;
    await bench.plane.until("its code is tried again", () => tries() > 2);
    expect(secretOf()).toBe(secret);
    expect(agent.child.exitCode).toBe(null);
  });
});

describe("a start of the agent elsewhere, with a copy of its secret", () => {
  test("makes the first one stale: that stops everything and exits", async () => {
    const first = await busyAgent();
    bench.plane.incarnation += 1;
    expect((await first.ended).code).toBe(3);
    expect(first.stderr()).toContain("a later start has joined");
    expect(bench.processes()).toEqual([]);
  });
});

describe("the exchange", () => {
  test("the lease of a host that cannot report runs on; it reports again as soon as it can", async () => {
    await busyAgent();
    let refused = 0;
    bench.plane.override = () => {
      refused += 1;
      return refused > 2 ? undefined : { status: 500, body: { detail: "a fault" } };
    };
    bench.plane.order([{ id: ID, want: "run" }]);
    await bench.plane.until("it reports again", () => refused > 2 && bench.plane.attempt(ID));
    expect(bench.plane.attempt(ID)?.state).toBe("running");
  });

  test("a wrong clock is corrected by the time of a signed answer (cases.md#case-16)", async () => {
    let shifted = 0;
    bench.plane.override = ({ headers, path }) => {
      if (!path.endsWith("/reports")) return undefined;
      const [, created] = /;created=(\d+);/.exec(String(headers["signature-input"])) ?? [];
      const ahead = Number(created) * 1_000 - Date.now() > 3_000_000;
      if (ahead) shifted += 1;
      return ahead ? { status: 409 } : { status: 401, createdAt: Date.now() + 3_600_000 };
    };
    bench.start();
    await bench.plane.until("a call with the server's time", () => shifted > 0);
  });

  test.each(["/v1/hosts/enroll", "/v1/hosts/w-1/join"])(
    "a call to %s that is refused as of another time, by a clock that agrees, is made again",
    async (path) => {
      let refused = 0;
      bench.plane.override = (call) => {
        if (call.path !== path || refused > 1) return undefined;
        refused += 1;
        return { status: 401, body: { detail: "signed at another time" } };
      };
      const first = bench.start();
      await bench.plane.until("it reports", () => bench.plane.reports.length > 0);
      if (path.endsWith("join")) {
        first.child.kill("SIGKILL");
        await first.ended;
        const before = bench.plane.reports.length;
        bench.start();
        await bench.plane.until("it reports again", () => bench.plane.reports.length > before);
      }
      expect(refused).toBe(2);
    },
  );

  test("a report that another has taken the place of keeps its connection", async () => {
    await busyAgent("echo ready; sleep 0.3; exit 4");
    await bench.plane.untilState(ID, "exited");
    bench.plane.order([]);
    await bench.plane.until("it is forgotten", () => bench.plane.reports.at(-1)?.attempts.length === 0);
    // One more was made to enroll: it was proven by the code, not by the secret.
    expect(bench.plane.connections).toBeLessThanOrEqual(3);
  });

  test("no report asks to be held for longer than the probe interval", async () => {
    bench.plane.setup = { probe: { intervalMs: 300, boot: "true" } };
    bench.start();
    await bench.plane.until("several reports", () => bench.plane.reports.length > 4);
    const waits = bench.plane.calls.flatMap(({ wait }) => (wait === null ? [] : [Number.parseInt(wait, 10)]));
    expect(Math.max(...waits)).toBeLessThanOrEqual(300);
  });
});

describe("the boot probe (host-protocol.md#boot)", () => {
  test("runs every interval until it has succeeded, and each outcome is reported", async () => {
    const flag = join(bench.dir, "up");
    const boot = `echo looking; test -e ${flag}`;
    bench.plane.setup = { probe: { intervalMs: 50, boot } };
    bench.start();
    const failed = await bench.plane.until("a failure", () => bench.plane.reports.find(({ boot }) => boot));
    expect(failed.boot).toEqual({ ok: false, output: "looking\n", exitCode: 1 });
    writeFileSync(flag, "");
    await bench.plane.until("a success", () => bench.plane.reports.some(({ boot }) => boot?.ok));
    await bench.plane.until("silence after", () => bench.plane.reports.at(-1)?.boot === undefined);
  });

  test("does not wait for what it leaves running", async () => {
    bench.plane.setup = { probe: { intervalMs: 10_000, boot: "sleep 300 & echo up" } };
    bench.start();
    const report = await bench.plane.until("its outcome", () => bench.plane.reports.find(({ boot }) => boot));
    expect(report.boot).toEqual({ ok: true, output: "up\n", exitCode: 0 });
  });
});

describe("the end of the agent", () => {
  test.each(["SIGTERM", "SIGINT"] as const)(
    "%s: all attempts are stopped, that is told, then it exits",
    async (signal) => {
      const agent = await busyAgent();
      agent.child.kill(signal);
      expect((await agent.ended).code).toBe(0);
      expect(bench.plane.attempt(ID)).toMatchObject({
        state: "exited",
        exit: { signal: "SIGTERM" },
        stopped: "agent",
      });
      expect(bench.processes()).toEqual([]);
    },
  );

  test("powerOff: the same, by orders", async () => {
    const agent = await busyAgent();
    bench.plane.order([], { powerOff: true });
    expect((await agent.ended).code).toBe(0);
    expect(bench.processes()).toEqual([]);
  });

  test("a signal while it cannot join ends it at once", async () => {
    bench.plane.override = () => ({ status: 503 });
    const agent = bench.start();
    await bench.plane.until("a try", () => bench.plane.calls.length > 0);
    agent.child.kill("SIGTERM");
    expect((await agent.ended).code).toBe(0);
  });
});

test("an idle agent stays below 80 MB (budgets.md#budgets)", async () => {
  const agent = bench.start();
  await bench.plane.until(
    "an idle host",
    () => bench.plane.reports.some(({ boot }) => boot?.ok) && bench.plane.holds,
  );
  const status = readFileSync(`/proc/${agent.child.pid}/status`, "utf8");
  const residentKiB = Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]);
  expect(residentKiB).toBeGreaterThan(0);
  expect(residentKiB).toBeLessThan(80 * 1_024);
});
