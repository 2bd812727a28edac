import { describe, expect, test } from "vitest";
import { ApiError, UnreachableError } from "../../../client/errors.ts";
import { type LogNews, type LogSpan, type OpenLog, readLog } from "../../../ui/log/read/log-reading.ts";

const LOG = new TextEncoder().encode("0123456789abcdefghijklmnopqrstuvwxyz");

/** A server with this log, whose answers break off after the given numbers of bytes. */
function server(breaks: number[], { ignoresRanges = false } = {}) {
  const asked: LogSpan[] = [];
  const open: OpenLog = async (span) => {
    asked.push(span);
    const begin = "from" in span ? span.from : Math.max(0, LOG.length - span.tail);
    if (begin >= LOG.length) throw new ApiError({ ...PROBLEM, status: 416, code: "range_not_satisfiable" });
    const from = ignoresRanges ? 0 : begin;
    const bytes = LOG.slice(from, "from" in span ? span.to : undefined);
    const most = breaks.shift();
    const headers = ignoresRanges
      ? undefined
      : { "content-range": `bytes ${from}-${from + bytes.length - 1}/*` };
    return new Response(streamOf(bytes, most), { headers });
  };
  return { asked, open };
}

const PROBLEM = { temporary: false, detail: "no", errors: [], retryAfterMs: undefined, runs: [] };

/** Bytes in pieces of five, which break off after `most`. */
function streamOf(bytes: Uint8Array, most = Number.POSITIVE_INFINITY): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= most) return controller.error(new TypeError("the connection broke"));
      if (at >= bytes.length) return controller.close();
      const next = Math.min(at + 5, most);
      controller.enqueue(bytes.slice(at, next));
      at = next;
    },
  });
}

interface Read {
  text: string;
  from: number | undefined;
  broken: (number | undefined)[];
  pauses: number[];
  ended: number | undefined;
}

async function read(open: OpenLog, span: LogSpan, signal = new AbortController().signal): Promise<Read> {
  const result: Read = { text: "", from: undefined, broken: [], pauses: [], ended: undefined };
  const pause = async (failures: number) => {
    result.pauses.push(failures);
  };
  for await (const news of readLog(span, { open, signal, pause })) take(result, news);
  return result;
}

function take(result: Read, news: LogNews): void {
  if (news.is === "begun") result.from ??= news.at;
  if (news.is === "broken") result.broken.push(news.at);
  if (news.is === "ended") result.ended = news.at;
  if (news.is !== "bytes") return;
  // Each piece joins the one before.
  expect(news.at).toBe((result.from ?? 0) + result.text.length);
  result.text += new TextDecoder().decode(news.bytes);
}

describe("a log is read (ui.md#d5)", () => {
  const all = new TextDecoder().decode(LOG);

  test.each([
    ["from its beginning", { from: 0 }, all, 0],
    ["from a byte on", { from: 30 }, all.slice(30), 30],
    ["from a byte to another", { from: 3, to: 8 }, all.slice(3, 8), 3],
    ["at its end", { tail: 10 }, all.slice(-10), 26],
    ["at its end, if it is shorter", { tail: 1_000 }, all, 0],
  ])("%s", async (_, span, text, from) => {
    expect(await read(server([]).open, span)).toMatchObject({
      text,
      from,
      broken: [],
      ended: from + text.length,
    });
  });

  test("on from the exact byte after each break", async () => {
    const { asked, open } = server([7, 0, 13]);
    const result = await read(open, { from: 0 });
    expect(result).toMatchObject({ text: all, broken: [7, 7, 20], pauses: [1, 2, 1], ended: all.length });
    expect(asked).toEqual([{ from: 0 }, { from: 7 }, { from: 7 }, { from: 20 }]);
  });

  test("on inside of its end after a break, without asking for the end again", async () => {
    const { asked, open } = server([4]);
    expect(await read(open, { tail: 10 })).toMatchObject({ text: all.slice(-10), from: 26 });
    expect(asked).toEqual([{ tail: 10 }, { from: 30 }]);
  });

  test("without doubled bytes, also if something on the way ignores ranges", async () => {
    const { open } = server([12, 20], { ignoresRanges: true });
    expect(await read(open, { from: 0 })).toMatchObject({ text: all, broken: [12, 20] });
  });

  test("again while nothing answers", async () => {
    const { open } = server([]);
    let failures = 3;
    const flaky: OpenLog = async (span, signal) => {
      if (failures-- > 0) throw new UnreachableError("http://drover.test", new Error("refused"));
      return await open(span, signal);
    };
    expect(await read(flaky, { tail: 10 })).toMatchObject({ text: all.slice(-10), pauses: [1, 2, 3] });
  });

  test("to its end, if a break came after the last byte", async () => {
    expect(await read(server([LOG.length]).open, { from: 0 })).toMatchObject({
      text: all,
      ended: LOG.length,
    });
  });

  test("never, if it is not kept", async () => {
    const open: OpenLog = async () => {
      throw new ApiError({ ...PROBLEM, status: 410, code: "expired_logs" });
    };
    await expect(read(open, { from: 0 })).rejects.toMatchObject({ code: "expired_logs" });
  });

  test("no longer, once the reader has left (ui.md#d4)", async () => {
    const leaving = new AbortController();
    const open: OpenLog = async () => {
      leaving.abort(new Error("left"));
      throw new UnreachableError("http://drover.test", new Error("aborted"));
    };
    await expect(read(open, { from: 0 }, leaving.signal)).rejects.toThrow("left");
  });
});
