import { describe, expect, test } from "vitest";
import { MAX_LOG_READ_BYTES } from "../../src/shared/limits.ts";
import { createEdge, type Edge } from "./support/edge.ts";
import type { FakeRun } from "./support/fake-objects.ts";

const PATH = "/v1/runs/a/logs/main/stdout";

function edgeWithLog(text: string | Uint8Array, ended = true): { edge: Edge; run: FakeRun } {
  const edge = createEdge();
  const run = edge.addRun("a", { state: ended ? "complete" : "running" });
  run.log = typeof text === "string" ? new TextEncoder().encode(text) : text;
  run.logEnded = ended;
  return { edge, run };
}

/** What a stream has brought by now, as it comes. */
function collect(answer: Response): {
  text: () => string;
  ended: Promise<void>;
  cancel: () => Promise<void>;
} {
  const reader = answer.body?.getReader();
  let text = "";
  const read = async () => {
    for (;;) {
      const piece = await reader?.read();
      if (piece === undefined || piece.done) return;
      text += new TextDecoder().decode(piece.value);
    }
  };
  const ended = read();
  return { text: () => text, ended, cancel: async () => reader?.cancel() };
}

describe("what a task wrote", () => {
  test("comes as bytes, whatever they are", async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    const { edge } = edgeWithLog(bytes);
    const answer = await edge.call("GET", PATH);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("application/octet-stream");
    expect(answer.headers.get("accept-ranges")).toBe("bytes");
    expect(new Uint8Array(await answer.arrayBuffer())).toEqual(bytes);
  });

  test("is whole even if it takes many reads", async () => {
    const bytes = new Uint8Array(3 * MAX_LOG_READ_BYTES + 5).map((_, index) => index % 251);
    const { edge } = edgeWithLog(bytes);
    const got = new Uint8Array(await (await edge.call("GET", PATH)).arrayBuffer());
    expect(Buffer.compare(got, bytes)).toBe(0);
  });

  test("may be empty", async () => {
    const { edge } = edgeWithLog("");
    const answer = await edge.call("GET", PATH);
    expect([answer.status, await answer.text()]).toEqual([200, ""]);
  });

  test("tells how much of it was dropped", async () => {
    const { edge, run } = edgeWithLog("abc");
    run.logDropped = 7;
    expect((await edge.call("GET", PATH)).headers.get("drover-dropped-bytes")).toBe("7");
  });

  test("of a task that is not there is 404", async () => {
    const { edge } = edgeWithLog("abc");
    expect(await edge.json(404, "GET", "/v1/runs/a/logs/other/stdout")).toMatchObject({
      code: "unknown_task",
    });
  });
});

describe("a part of it (RFC 9110 §14)", () => {
  const parts: [string, string, string][] = [
    ["bytes=0-3", "0123", "bytes 0-3/10"],
    ["bytes=4-4", "4", "bytes 4-4/10"],
    ["bytes=7-", "789", "bytes 7-9/10"],
    ["bytes=7-99", "789", "bytes 7-9/10"],
    ["bytes=-3", "789", "bytes 7-9/10"],
    ["bytes=-99", "0123456789", "bytes 0-9/10"],
    ["bytes=0-", "0123456789", "bytes 0-9/10"],
  ];
  test.each(parts)("%s is %s", async (range, text, contentRange) => {
    const { edge } = edgeWithLog("0123456789");
    const answer = await edge.call("GET", PATH, undefined, { range });
    expect(answer.status).toBe(206);
    expect(await answer.text()).toBe(text);
    expect(answer.headers.get("content-range")).toBe(contentRange);
  });

  test("of a log that still grows has no length yet", async () => {
    const { edge } = edgeWithLog("0123456789", false);
    const answer = await edge.call("GET", PATH, undefined, { range: "bytes=8-" });
    expect(await answer.text()).toBe("89");
    expect(answer.headers.get("content-range")).toBe("bytes 8-9/*");
  });

  test.each(["bytes=10-", "bytes=11-12", "bytes=-0"])(
    "%s, which is behind the end, is 416",
    async (range) => {
      const { edge } = edgeWithLog("0123456789");
      const answer = await edge.call("GET", PATH, undefined, { range });
      expect(answer.status).toBe(416);
      if (range !== "bytes=-0") expect(answer.headers.get("content-range")).toBe("bytes */10");
      expect(await answer.json()).toMatchObject({ code: "range_not_satisfiable" });
    },
  );

  test("in another unit is not a part: the whole comes", async () => {
    const { edge } = edgeWithLog("0123456789");
    const answer = await edge.call("GET", PATH, undefined, { range: "lines=1-2" });
    expect([answer.status, await answer.text()]).toEqual([200, "0123456789"]);
  });

  test("can be the tail, which says where it begins", async () => {
    const { edge } = edgeWithLog("0123456789");
    const answer = await edge.call("GET", `${PATH}?tail=4`);
    expect([answer.status, await answer.text()]).toEqual([200, "6789"]);
    expect(answer.headers.get("content-range")).toBe("bytes 6-9/10");
    expect(await (await edge.call("GET", `${PATH}?tail=64KiB`)).text()).toBe("0123456789");
  });

  test("can be a large range, which takes many reads", async () => {
    const bytes = new Uint8Array(3 * MAX_LOG_READ_BYTES).map((_, index) => index % 251);
    const { edge } = edgeWithLog(bytes);
    const range = `bytes=10-${2 * MAX_LOG_READ_BYTES}`;
    const answer = await edge.call("GET", PATH, undefined, { range });
    const got = new Uint8Array(await answer.arrayBuffer());
    expect(Buffer.compare(got, bytes.subarray(10, 2 * MAX_LOG_READ_BYTES + 1))).toBe(0);
  });
});

describe("follow=1", () => {
  function write(edge: Edge, run: FakeRun, text: string): void {
    run.log = new Uint8Array([...run.log, ...new TextEncoder().encode(text)]);
    edge.wake();
  }

  test("brings what is written as it is written, until the end", async () => {
    const { edge, run } = edgeWithLog("one ", false);
    const stream = collect(await edge.call("GET", `${PATH}?follow=1`));
    await expect.poll(stream.text).toBe("one ");
    write(edge, run, "two ");
    await expect.poll(stream.text).toBe("one two ");
    write(edge, run, "three");
    run.logEnded = true;
    edge.wake();
    await stream.ended;
    expect(stream.text()).toBe("one two three");
  });

  test("answers before anything is written", async () => {
    const { edge, run } = edgeWithLog("", false);
    const answer = await edge.call("GET", `${PATH}?follow=1`);
    expect(answer.status).toBe(200);
    const stream = collect(answer);
    write(edge, run, "at last");
    await expect.poll(stream.text).toBe("at last");
    await stream.cancel();
  });

  test("of a log that has ended is the log", async () => {
    const { edge } = edgeWithLog("all of it");
    expect(await (await edge.call("GET", `${PATH}?follow=1`)).text()).toBe("all of it");
  });

  test("goes on behind a tail, and behind a range, even one that begins at the present end", async () => {
    const { edge, run } = edgeWithLog("0123", false);
    const tail = collect(await edge.call("GET", `${PATH}?follow=1&tail=2`));
    const answer = await edge.call("GET", `${PATH}?follow=1`, undefined, { range: "bytes=4-" });
    expect(answer.status).toBe(206);
    expect(answer.headers.get("content-range")).toMatch(/^bytes 4-\d+\/\*$/);
    const range = collect(answer);
    const bounded = collect(await edge.call("GET", `${PATH}?follow=1`, undefined, { range: "bytes=3-5" }));
    write(edge, run, "4567");
    await bounded.ended;
    expect(bounded.text()).toBe("345");
    run.logEnded = true;
    edge.wake();
    await Promise.all([tail.ended, range.ended]);
    expect([tail.text(), range.text()]).toEqual(["234567", "4567"]);
  });

  test("stays with the attempt that it began with, of which the answer has the name", async () => {
    const { edge, run } = edgeWithLog("one", false);
    const answer = await edge.call("GET", `${PATH}?follow=1`);
    expect(answer.headers.get("drover-attempt")).toBe("1.1");
    const stream = collect(answer);
    await expect.poll(stream.text).toBe("one");
    run.earlierLogs = [new TextEncoder().encode("one, and its end")];
    run.log = new TextEncoder().encode("another attempt, which has written more");
    edge.wake();
    await stream.ended;
    expect(stream.text()).toBe("one, and its end");
    const latest = await edge.call("GET", `${PATH}?tail=4`);
    expect([latest.headers.get("drover-attempt"), await latest.text()]).toEqual(["1.2", "more"]);
  });

  test("begun before there is any attempt is of the first one, however many there are soon", async () => {
    const { edge, run } = edgeWithLog("the second", false);
    edge.setState("a", "pending");
    const answer = await edge.call("GET", `${PATH}?follow=1`);
    expect(answer.headers.get("drover-attempt")).toBe(null);
    const stream = collect(answer);
    run.earlierLogs = [new TextEncoder().encode("the first")];
    edge.setState("a", "running");
    await stream.ended;
    expect(stream.text()).toBe("the first");
  });

  test("from behind the end of a log that has ended is 416", async () => {
    const { edge } = edgeWithLog("0123");
    const answer = await edge.call("GET", `${PATH}?follow=1`, undefined, { range: "bytes=4-" });
    expect(answer.status).toBe(416);
  });

  test("ends its reading when the client goes away", async () => {
    const { edge, run } = edgeWithLog("one ", false);
    const stream = collect(await edge.call("GET", `${PATH}?follow=1`));
    await expect.poll(() => edge.calls.filter((call) => call.endsWith("log"))).toHaveLength(2);
    await stream.cancel();
    write(edge, run, "two ");
    write(edge, run, "three ");
    run.logEnded = true;
    edge.wake();
    await new Promise((resolve) => setImmediate(resolve));
    expect(edge.calls.filter((call) => call.endsWith("log"))).toHaveLength(2);
    expect(stream.text()).toBe("one ");
  });

  test("outlives the restart of an object", async () => {
    const { edge, run } = edgeWithLog("one ", false);
    const stream = collect(await edge.call("GET", `${PATH}?follow=1`));
    await expect.poll(stream.text).toBe("one ");
    let faults = 0;
    edge.fault = () => {
      faults += 1;
      if (faults <= 2) throw Object.assign(new Error("reset"), { durableObjectReset: true });
    };
    write(edge, run, "two");
    await expect.poll(() => edge.calls.length).toBeGreaterThan(2);
    run.logEnded = true;
    edge.wake();
    await stream.ended;
    expect(stream.text()).toBe("one two");
  });

  test("breaks off when reading fails for good: a part must not look like the whole", async () => {
    const { edge, run } = edgeWithLog("one ", false);
    const stream = collect(await edge.call("GET", `${PATH}?follow=1`));
    const outcome = expect(stream.ended).rejects.toThrow();
    await expect.poll(stream.text).toBe("one ");
    edge.fault = () => {
      throw new Error("a fault");
    };
    write(edge, run, "two");
    await outcome;
  });
});
