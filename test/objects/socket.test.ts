import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { upgrade } from "../../src/objects/host/host-sockets.ts";
import { meter } from "../../src/objects/meter.ts";
import { MAX_REPORT_BYTES } from "../../src/shared/limits.ts";
import { EMPTY_DIGEST } from "../../src/signing/mac.ts";
import { claim, headersOf, OTHER_SECRET, TestHost } from "./support/host.ts";
import { askForSocket, openSocket } from "./support/socket-host.ts";
import { bindings, bootMachine, eventually, freshWorld, makePool, objects, submit } from "./support/world.ts";

// The exchange over a hibernating socket (host-protocol.md#socket), in the runtime.

const world = freshWorld();

/** A ready machine on which nothing runs, with a socket that has heard everything. */
async function connected() {
  await makePool();
  await submit("warm-up");
  const { worker, host } = await bootMachine(world.cloud);
  const socket = await openSocket(host);
  host.attempts = [{ id: "warm-up/main/1.1", state: "exited", exit: EXIT }];
  await socket.report(host);
  host.attempts = [];
  await objects.allocation("warm-up").wait([], 5_000);
  await socket.orders(({ attempts }) => attempts.length === 0);
  socket.frames.length = 0;
  return { worker, host, socket };
}

const EXIT = { code: 0, signal: null, oomKilled: false, message: "" };
const names = (attempts: { id: string }[]) => attempts.map(({ id }) => id);
const evict = (worker: string) => evictDurableObject(bindings.CLOUD_WORKER.getByName(worker));

test("a fault of the object's own is no refusal of a socket", async () => {
  const { worker, host } = await connected();
  const fault = new Error("the storage is broken");
  const door = { session: () => Promise.reject(fault) };
  const call = claim(EMPTY_DIGEST, host.identity, { purpose: "socket", method: "GET" });
  const request = new Request(`http://drover.test/v1/hosts/${worker}/socket`, { headers: headersOf(call) });
  await expect(upgrade({} as DurableObjectState, request, worker, door)).rejects.toBe(fault);
});

describe("orders", () => {
  test("arrive unasked as soon as they are stored, and grant no lease (rules R1, R4)", async () => {
    const { socket } = await connected();
    await submit("pushed");
    const orders = await socket.orders(({ attempts }) => attempts.length > 0);
    expect(names(orders.attempts)).toEqual(["pushed/main/1.1"]);
    expect(orders.leaseMs).toBe(0);
  });

  test("answer each report, with the lease", async () => {
    const { host, socket } = await connected();
    const orders = await socket.report(host);
    expect(orders.leaseMs).toBeGreaterThan(0);
  });

  test("omit what is over when its allocation has said so", async () => {
    const { host, socket } = await connected();
    await submit("short");
    const { revision } = await socket.orders(({ attempts }) => attempts.length > 0);
    await socket.report(host, {
      full: false,
      attempts: [{ id: "short/main/1.1", state: "exited", exit: EXIT }],
    });
    expect(await objects.allocation("short").wait([], 5_000)).toMatchObject({
      state: "complete",
      exitCode: 0,
    });
    await socket.orders((orders) => orders.revision > revision && orders.attempts.length === 0);
  });
});

describe("an object that was evicted", () => {
  test("asks its host when somebody wants to know what a run uses, and writes nothing", async () => {
    const { worker, host, socket } = await connected();
    await submit("busy");
    await socket.orders(({ attempts }) => attempts.length > 0);
    host.attempts = [{ id: "busy/main/1.1", state: "running", startedAgoMs: 5 }];
    await socket.report(host);
    await objects.allocation("busy").wait(["running"], 5_000);
    await evict(worker);
    const before = meter.rowsWritten;
    const reading = objects.allocation("busy").stats();
    await socket.asked();
    const sample = { cpuMs: 900, cpus: 0.5, memoryBytes: 4_096, pids: 2 };
    const attempts = { "busy/main/1.1": sample, "other/main/1.1": sample };
    await socket.report(host, { usage: { agoMs: 10, host: sample, attempts } });
    expect(await reading).toMatchObject({
      tasks: [{ name: "main", state: "running", attempt: "busy/main/1.1", usage: sample }],
      total: sample,
    });
    expect(meter.rowsWritten).toBe(before);
  });

  test("is woken by an order, and passes it on over the socket that it finds", async () => {
    const { worker, socket } = await connected();
    await evict(worker);
    await submit("after-sleep");
    const orders = await socket.orders(({ attempts }) => attempts.length > 0);
    expect(names(orders.attempts)).toEqual(["after-sleep/main/1.1"]);
    expect(socket.frames.filter((frame) => "ask" in frame)).toEqual([]);
  });

  test("asks for a full report if it may have forgotten something (rule R5)", async () => {
    const { worker, host, socket } = await connected();
    const stub = bindings.CLOUD_WORKER.getByName(worker);
    await runInDurableObject(stub, (_, state) => {
      for (const one of state.getWebSockets()) {
        const kept = one.deserializeAttachment();
        one.serializeAttachment({ ...kept, note: { ...kept.note, settled: false } });
      }
    });
    await evict(worker);
    await submit("after-sleep");
    await socket.asked();
    expect(socket.frames).toEqual([{ ask: "full" }]);
    const orders = await socket.report(host, { full: true });
    expect(names(orders.attempts)).toEqual(["after-sleep/main/1.1"]);
  });

  test("takes no report again that it has had: the highest number outlives it with the socket", async () => {
    const { worker, host, socket } = await connected();
    const first = host.next();
    const second = host.next({ full: false, attempts: [{ id: "ghost/main/1.1", state: "running" }] });
    for (const report of [first, second]) socket.send(report);
    await socket.orders(({ answers }) => answers === second.seq);
    socket.send(first);
    await eventually(async () => {
      const { events } = await objects.worker(worker).read();
      return events.some(({ code }) => code === "repeated_report") || undefined;
    });
    await evict(worker);
    socket.frames.length = 0;
    socket.send(second);
    await socket.report(host);
    expect(socket.frames.filter((frame) => "answers" in frame && frame.answers === second.seq)).toEqual([]);
  });

  test("is not woken by heartbeats, which the platform answers, and hears of them later", async () => {
    const { worker, socket } = await connected();
    await evict(worker);
    const before = meter.requests;
    socket.send("ping");
    await eventually(() => socket.pongs.length > 0 || undefined);
    expect(meter.requests).toBe(before);
    const { lastReportAt } = await objects.worker(worker).read();
    expect(Date.now() - Date.parse(lastReportAt ?? "")).toBeLessThan(60_000);
  });
});

describe("a socket is closed", () => {
  test("that a newer one has taken the place of", async () => {
    const { host, socket } = await connected();
    const newer = await openSocket(host);
    await newer.report(host);
    const { code } = await eventually(() => socket.closed);
    expect(code).toBe(4_408);
  });

  test("of an older start of the agent", async () => {
    const { worker, host, socket } = await connected();
    const later = new TestHost(() => objects.worker(worker));
    later.identity = host.identity;
    await later.join();
    socket.send(host.next());
    expect(await eventually(() => socket.closed)).toMatchObject({ code: 4_409 });
    const { events } = await objects.worker(worker).read();
    expect(events.at(-1)).toMatchObject({ type: "Refused", code: "stale_incarnation" });
  });

  test.each([
    ["no JSON", "{", 4_400],
    ["no report", '{"seq": "1"}', 4_400],
  ])("on which a frame comes that is %s", async (_what, frame, code) => {
    const { socket } = await connected();
    socket.send(frame);
    expect((await eventually(() => socket.closed)).code).toBe(code);
  });

  test.each([
    ["characters", "x"],
    ["bytes", "字"],
  ])("X16: on which a frame comes that has more %s than the body of a call may have", async (_what, char) => {
    const { socket } = await connected();
    const bytes = new TextEncoder().encode(char).length;
    socket.send(char.repeat(Math.ceil((MAX_REPORT_BYTES + 64) / bytes)));
    expect((await eventually(() => socket.closed)).code).toBe(4_413);
  });
});

test("a request for a socket is verified like any call", async () => {
  const { worker, host } = await connected();
  const stranger = new TestHost(() => objects.worker(worker));
  stranger.identity = { ...host.identity, secret: OTHER_SECRET };
  const [answer] = await askForSocket(stranger);
  expect(answer.status).toBe(401);
  expect(await answer.json()).toEqual({ refused: expect.objectContaining({ code: "bad_signature" }) });
});
