import { describe, expect, test } from "vitest";
import { keepAlive } from "../../src/routes/http/event-stream.ts";
import { createEdge, type Edge } from "./support/edge.ts";
import { addEvents, type FakeRun } from "./support/fake-objects.ts";

const PATH = "/v1/runs/a/events";

function edgeWithEvents(count: number, first = 1): { edge: Edge; run: FakeRun } {
  const edge = createEdge();
  const run = edge.addRun("a", { state: "running" });
  addEvents(run, count, first);
  return { edge, run };
}

interface Message {
  id?: string;
  event?: string;
  data?: string;
}

/** Reads an event stream as a browser does (the SSE part of the HTML standard), comments apart. */
function listen(answer: Response) {
  const messages: Message[] = [];
  const comments: string[] = [];
  const reader = answer.body?.getReader();
  const read = async () => {
    let rest = "";
    for (;;) {
      const piece = await reader?.read();
      if (piece === undefined || piece.done) return;
      rest += new TextDecoder().decode(piece.value);
      const blocks = rest.split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        if (block.startsWith(":")) comments.push(block);
        else messages.push(Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s, 2))));
      }
    }
  };
  const ended = read();
  return { messages, comments, ended, cancel: async () => reader?.cancel() };
}

const stream = { accept: "text/event-stream" };
const idsOf = (messages: Message[]) => messages.map((message) => message.id ?? message.event);

describe("events as a list", () => {
  test("are those behind `after`, with the number of those dropped", async () => {
    const { edge } = edgeWithEvents(5, 11);
    const all = await edge.json(200, "GET", PATH);
    expect(all).toMatchObject({ dropped: 10, ended: false });
    expect(all.items.map((event: { seq: number }) => event.seq)).toEqual([11, 12, 13, 14, 15]);
    const rest = await edge.json(200, "GET", `${PATH}?after=13`);
    expect(rest.items.map((event: { seq: number }) => event.seq)).toEqual([14, 15]);
  });

  test("are waited for", async () => {
    const { edge, run } = edgeWithEvents(2);
    const answer = edge.json(200, "GET", `${PATH}?after=2&wait=60s`);
    await expect.poll(() => edge.calls).toContain("allocation a events");
    addEvents(run, 1, 3);
    edge.wake();
    expect(await answer).toMatchObject({ items: [{ seq: 3 }] });
  });

  test.each(["*/*", "application/json", "text/html", "text/event-stream;q=0.5, application/json"])(
    "come as JSON for Accept: %s",
    async (accept) => {
      const { edge } = edgeWithEvents(1);
      const answer = await edge.call("GET", PATH, undefined, { accept });
      expect(answer.headers.get("content-type")).toContain("application/json");
    },
  );
});

describe("events as a stream (api.md#streams)", () => {
  test("come as they happen, numbered, with an explicit end", async () => {
    const { edge, run } = edgeWithEvents(2);
    const answer = await edge.call("GET", PATH, undefined, stream);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toContain("text/event-stream");
    const heard = listen(answer);
    await expect.poll(() => idsOf(heard.messages)).toEqual(["1", "2"]);
    expect(JSON.parse(heard.messages[0]?.data ?? "")).toEqual(run.events[0]);
    addEvents(run, 1, 3);
    edge.wake();
    await expect.poll(() => idsOf(heard.messages)).toEqual(["1", "2", "3"]);
    addEvents(run, 1, 4);
    edge.setState("a", "complete");
    await heard.ended;
    expect(idsOf(heard.messages)).toEqual(["1", "2", "3", "4", "end"]);
  });

  test("resume behind Last-Event-ID, which counts more than `after`", async () => {
    const { edge } = edgeWithEvents(5);
    edge.setState("a", "complete");
    const resumed = await edge.call("GET", `${PATH}?after=1`, undefined, { ...stream, "last-event-id": "3" });
    const heard = listen(resumed);
    await heard.ended;
    expect(idsOf(heard.messages)).toEqual(["4", "5", "end"]);
  });

  test("tell what is no longer kept", async () => {
    const { edge } = edgeWithEvents(2, 11);
    edge.setState("a", "complete");
    const heard = listen(await edge.call("GET", PATH, undefined, stream));
    await heard.ended;
    expect(idsOf(heard.messages)).toEqual(["dropped", "11", "12", "end"]);
    const later = listen(await edge.call("GET", `${PATH}?after=10`, undefined, stream));
    await later.ended;
    expect(idsOf(later.messages)).toEqual(["11", "12", "end"]);
  });

  test("begin with a comment if there is nothing to tell, and no read is held longer than 15 s", async () => {
    const { edge } = edgeWithEvents(0);
    const heard = listen(await edge.call("GET", PATH, undefined, stream));
    await expect.poll(() => heard.comments).toHaveLength(1);
    await expect.poll(() => edge.longestWaitMs).toBe(15_000);
    await heard.cancel();
  });

  test("say that they are alive again and again, however long a read takes", async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const written: string[] = [];
    const stream = { aborted: false, write: async (text: string) => written.push(text) };
    const reading = keepAlive(stream, () => promise, 1);
    await expect.poll(() => written.length).toBeGreaterThan(2);
    expect(new Set(written)).toEqual(new Set([": nothing new\n\n"]));
    resolve("news");
    expect(await reading).toBe("news");
    const before = written.length;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(written).toHaveLength(before);
  });

  test("that break are never taken for the end", async () => {
    const { edge, run } = edgeWithEvents(1);
    const heard = listen(await edge.call("GET", PATH, undefined, stream));
    await expect.poll(() => idsOf(heard.messages)).toEqual(["1"]);
    edge.fault = () => {
      throw new Error("a fault");
    };
    addEvents(run, 1, 2);
    edge.wake();
    await heard.ended.catch(() => undefined);
    // The read that was held brings its event; the next one fails.
    expect(idsOf(heard.messages)).toEqual(["1", "2"]);
  });

  test("end their reading when the client goes away", async () => {
    const { edge, run } = edgeWithEvents(1);
    const heard = listen(await edge.call("GET", PATH, undefined, stream));
    const reads = () => edge.calls.filter((call) => call.endsWith("events"));
    await expect.poll(reads).toHaveLength(2);
    await heard.cancel();
    addEvents(run, 1, 2);
    edge.wake();
    await new Promise((resolve) => setImmediate(resolve));
    expect(reads()).toHaveLength(2);
  });
});

describe("the changes of a pool as a stream (api.md#pool-events)", () => {
  test("say once that there is nothing, and not again after each read", async () => {
    const edge = createEdge();
    const heard = listen(await edge.call("GET", "/v1/events?after=7", undefined, stream));
    const reads = () => edge.calls.filter((call) => call === "pool default events").length;
    for (let read = 2; read < 5; read += 1) {
      await expect.poll(reads).toBe(read);
      edge.wake();
    }
    await expect.poll(reads).toBe(5);
    expect(heard.comments).toHaveLength(1);
    await heard.cancel();
  });

  test("resume behind Last-Event-ID, and end when the pool is deleted", async () => {
    const edge = createEdge();
    const heard = listen(await edge.call("GET", "/v1/events", undefined, stream));
    const resumed = listen(
      await edge.call("GET", "/v1/events", undefined, { ...stream, "last-event-id": "7" }),
    );
    await expect.poll(() => idsOf(heard.messages)).toEqual(["7"]);
    await expect.poll(() => resumed.comments.length).toBeGreaterThan(0);
    edge.pools.delete("default");
    edge.wake();
    await Promise.all([heard.ended, resumed.ended]);
    expect([idsOf(heard.messages), idsOf(resumed.messages)]).toEqual([["7", "end"], ["end"]]);
  });

  test("that break are never taken for the end", async () => {
    const edge = createEdge();
    const heard = listen(await edge.call("GET", "/v1/events", undefined, stream));
    await expect.poll(() => idsOf(heard.messages)).toEqual(["7"]);
    edge.fault = () => {
      throw new Error("a fault");
    };
    edge.wake();
    await heard.ended.catch(() => undefined);
    expect(idsOf(heard.messages)).toEqual(["7"]);
  });
});
