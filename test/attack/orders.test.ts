import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Orders } from "../../src/schema/host.ts";
import { type Bench, openBench, run } from "../agent/support/bench.ts";
import type { Call, Override } from "../agent/support/fake-plane.ts";

// Whoever has the port of a control plane, or sits on the way to it, gives no orders: the built agent obeys
// what is
// signed for the very call, or frame, and takes everything else for no answer at all.

const ID = "mine/main/1.1";

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(async () => {
  const { faults } = bench.plane;
  await bench.close();
  expect(faults).toEqual([]);
});

const evil = () => join(bench.dir, "evil");
/** Orders as a stranger gives them who has read the report that it got. */
function evilOrders(): Orders {
  const { incarnation = 1, seq = 1 } = bench.plane.reports.at(-1) ?? {};
  const task = run("evil/main/1.1", ["sh", "-c", `echo >${evil()}`]);
  const rest = { leaseMs: 1_800_000, reportWithinMs: 1_000, logs: {}, powerOff: false, attempts: [task] };
  return { incarnation, revision: bench.plane.revision + 1, answers: seq + 1, ...rest };
}
const isReport = ({ path }: Call) => path.endsWith("/reports");

/** An agent of which one run is known to run. */
async function busy(): Promise<ReturnType<Bench["start"]>> {
  const agent = bench.start();
  await bench.plane.until("a report", () => bench.plane.reports.length > 0);
  bench.plane.order([run(ID, ["sleep", "300"])]);
  await bench.plane.untilState(ID, "running");
  return agent;
}

/** The stranger answers some calls; then the control plane is there again, and finds the host as it was. */
async function strangerAnswers(answer: (call: Call) => Override): Promise<void> {
  let answered = 0;
  const from = bench.plane.revision;
  bench.plane.override = (call) => {
    if (!isReport(call)) return undefined;
    answered += 1;
    return answer(call);
  };
  bench.plane.order([{ id: ID, want: "run" }]);
  await bench.plane.until("answers of the stranger", () => answered >= 2);
  bench.plane.override = () => undefined;
  await bench.plane.until("a report that has seen the true orders", () => {
    return (bench.plane.reports.at(-1)?.ordersSeen ?? 0) > from;
  });
  expect(bench.plane.attempt(ID)?.state).toBe("running");
  expect(bench.plane.attempt("evil/main/1.1")).toBeUndefined();
  expect(existsSync(evil())).toBe(false);
}

describe("X1: an answer that the control plane has not signed for this call", () => {
  test.each<[string, "nobody" | "stranger"]>([
    ["without a signature", "nobody"],
    ["signed with another secret", "stranger"],
  ])("gives no orders: %s", async (_how, signedBy) => {
    await busy();
    await strangerAnswers(() => ({ status: 200, body: evilOrders(), signedBy }));
  });

  test("gives no orders: signed for an earlier call", async () => {
    await busy();
    const earlier = bench.plane.calls.findLast(isReport);
    await strangerAnswers(() => ({ status: 200, body: evilOrders(), signedFor: earlier }));
  });

  test.each([401, 403, 404, 409, 410])("ends no agent: status %i", async (status) => {
    const agent = await busy();
    await strangerAnswers(() => ({ status, signedBy: "nobody", body: { detail: "go away" } }));
    expect(agent.child.exitCode).toBeNull();
  });

  test("makes nobody a host: an enrollment and a join that a stranger answers are made again", async () => {
    let answered = 0;
    bench.plane.override = ({ path }) => {
      answered += 1;
      if (answered > 2) return undefined;
      const setup = { worker: "evil", incarnation: 1, reportUrl: `${bench.plane.url}${path}` };
      const probe = { intervalMs: 1_000, boot: `echo >${evil()}` };
      return { status: 200, signedBy: "stranger", body: { ...setup, probe, leaseMs: 1_000 } };
    };
    bench.start();
    await bench.plane.until("its report", () => bench.plane.reports.length > 0);
    expect([answered > 2, existsSync(evil())]).toEqual([true, false]);
  });

  test("moves no clock: only a proven answer says what time it is", async () => {
    await busy();
    await strangerAnswers(() => ({ status: 401, signedBy: "stranger", createdAt: Date.now() + 3_600_000 }));
    const latest = bench.plane.calls.findLast(isReport)?.headers["signature-input"];
    const created = Number(/;created=(\d+);/.exec(String(latest))?.[1]);
    expect(Math.abs(created * 1_000 - Date.now())).toBeLessThan(1_800_000);
  });
});

describe("X1: a frame that the control plane has not said", () => {
  beforeEach(() => {
    bench.plane.givesSockets = true;
  });

  test.each<[string, (sent: string[]) => string]>([
    ["bare JSON", () => JSON.stringify(evilOrders())],
    ["a made-up seal", () => `2 ${"A".repeat(43)}=\n${JSON.stringify(evilOrders())}`],
    ["a true frame again", (sent) => sent.at(-1) ?? ""],
    ["a true frame with another body", (sent) => sent.at(-1)?.replace("mine", "evil") ?? ""],
  ])("ends the socket, and is not obeyed: %s", async (_what, frameOf) => {
    const agent = await busy();
    const [socket] = bench.plane.sockets;
    if (socket === undefined) throw new Error("the agent has no socket");
    const sent: string[] = [];
    const send = socket.send.bind(socket);
    socket.send = (text: string) => {
      sent.push(text);
      send(text);
    };
    bench.plane.order([{ id: ID, want: "run" }]);
    send(frameOf(sent));
    await bench.plane.until(
      "another socket",
      () => !bench.plane.sockets.has(socket) && bench.plane.sockets.size,
    );
    await bench.plane.untilState(ID, "running");
    expect([agent.child.exitCode, existsSync(evil())]).toEqual([null, false]);
  });

  test("is no code of a close, either: it ends no agent", async () => {
    const agent = await busy();
    const [socket] = bench.plane.sockets;
    socket?.close(4_409, "a later start");
    await bench.plane.until("another socket", () => {
      return socket !== undefined && !bench.plane.sockets.has(socket) && bench.plane.sockets.size;
    });
    expect(agent.child.exitCode).toBeNull();
  });
});

test("X1: an agent speaks in the clear to this machine only: the address that it is given", async () => {
  const agent = bench.startWith(["--url", "http://192.0.2.1:8787", "--state", bench.stateDir]);
  expect((await agent.ended).code).toBe(2);
  expect(agent.stderr()).toContain("must be https, or http on this machine");
});

test("X1: an agent speaks in the clear to this machine only: what it is told when it enrolls", async () => {
  bench.plane.setup = { reportUrl: "http://192.0.2.1:8787/v1/hosts/w-1/reports" };
  const agent = bench.start();
  expect((await agent.ended).code).toBe(3);
  expect(agent.stderr()).toContain("must be https, or http on this machine");
  expect(bench.plane.reports).toEqual([]);
});
