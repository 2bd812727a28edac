import { describe, expect, test } from "vitest";
import { OUTPUT_REPORT_DELAY_MS } from "../../../agent/core/bounds.ts";
import type { HostEvent } from "../../../agent/core/events.ts";
import type { HostMessage } from "../../../agent/core/messages.ts";
import { LONGEST_NEEDLE_BYTES } from "../../../agent/core/redaction/needles.ts";
import {
  CHUNK_REFUSED_MS,
  LEAST_CHUNK_BYTES,
  MAX_CHUNKS_IN_FLIGHT,
  PUNCH_STEP_BYTES,
} from "../../../agent/core/reports/chunks.ts";
import { CHUNK_FROM_BYTES } from "../../../agent/core/reports/logs.ts";
import { BACKOFF_FIRST_MS } from "../../../agent/core/reports/pace.ts";
import { MAX_LOG_BYTES, MAX_LOG_CHUNK_BYTES } from "../../../src/shared/limits.ts";
import { Driven, EXIT, ID, run, SETUP } from "./drive.ts";

const URL = "http://plane/logs";
const output = (size: number, id = ID): HostEvent => ({ type: "output", id, stream: "stdout", size });
const ship = { id: ID, stream: "stdout" as const };
const stored = (bytes: number): HostEvent => ({ type: "chunk_stored", ...ship, stored: bytes });
const failed = (more = {}): HostEvent => {
  return { type: "chunk_failed", ...ship, random: 1, refused: false, ...more };
};

/** A host that was told where chunks go, and runs some attempts. */
function host(ids = [ID]): Driven {
  const setup = { ...SETUP, logsUrl: URL };
  const driven = new Driven().tell({ type: "joined", setup }).tell({ type: "probed", ok: true, output: "" });
  driven.order(ids.map((id) => run(id)));
  for (const id of ids) driven.tell({ type: "launched", id, by: "processes" });
  return driven;
}

function chunks(driven: Driven) {
  return driven.due().filter((one): one is Extract<HostMessage, { kind: "ship_log" }> => {
    return one.kind === "ship_log";
  });
}

/** Sends the chunks that are due. */
function sendChunks(driven: Driven): Driven {
  for (const { id, stream, from, bytes } of chunks(driven)) {
    driven.tell({ type: "chunk_sent", id, stream, from, bytes });
  }
  return driven;
}

/** Log bytes that the report to be sent now would carry. */
const inReport = (driven: Driven) => driven.message("report")?.pieces ?? [];

describe("which way a stream's bytes go (decisions/files.md#log-chunks)", () => {
  test.each([
    ["little", CHUNK_FROM_BYTES - 1, 0, 1],
    ["much", CHUNK_FROM_BYTES, 1, 0],
  ])("%s to send: %d bytes are %d chunks and %d pieces of a report", (_, bytes, parts, pieces) => {
    const driven = host().tell(output(bytes)).pass(OUTPUT_REPORT_DELAY_MS);
    expect([chunks(driven).length, inReport(driven).length]).toEqual([parts, pieces]);
  });

  test("a chunk has at most MAX_LOG_CHUNK_BYTES, and there is one of a stream at a time", () => {
    const driven = host().tell(output(3 * MAX_LOG_CHUNK_BYTES));
    expect(chunks(driven)).toMatchObject([{ ...ship, url: URL, from: 0, bytes: MAX_LOG_CHUNK_BYTES }]);
    expect(chunks(sendChunks(driven))).toEqual([]);
    expect(chunks(driven.tell(stored(MAX_LOG_CHUNK_BYTES)))).toMatchObject([{ from: MAX_LOG_CHUNK_BYTES }]);
  });

  test("where there is no bucket all of it goes into reports", () => {
    const without = new Driven().tell({ type: "joined", setup: SETUP }).order([run()]);
    without.tell({ type: "launched", id: ID, by: "processes" }).tell(output(50_000_000));
    expect(chunks(without)).toEqual([]);
    expect(inReport(without)).toHaveLength(1);
  });

  test("bytes are never on both ways: none goes by chunk while a report with log bytes is out", () => {
    const driven = host().tell(output(10)).pass(OUTPUT_REPORT_DELAY_MS);
    driven.send();
    driven.tell(output(CHUNK_FROM_BYTES + 10));
    expect(chunks(driven)).toEqual([]);
    driven.answer([run()], { logs: { [ID]: { stdout: 10 } } });
    expect(chunks(driven)).toMatchObject([{ from: 10, bytes: CHUNK_FROM_BYTES }]);
  });

  test("nor by report while a chunk is out, however little is left behind it", () => {
    const driven = sendChunks(host().tell(output(CHUNK_FROM_BYTES)));
    driven.tell(output(CHUNK_FROM_BYTES + 5)).pass(60_000);
    expect(inReport(driven)).toEqual([]);
    driven.tell(stored(CHUNK_FROM_BYTES)).pass(OUTPUT_REPORT_DELAY_MS);
    expect(inReport(driven)).toMatchObject([{ from: CHUNK_FROM_BYTES, bytes: 5 }]);
  });

  test("what grows by chunk is no news: a report for each look would be a row for each", () => {
    const driven = host();
    driven.pass(60_000).send();
    driven.answer([run()]).pass(1_000).send();
    sendChunks(driven.tell(output(MAX_LOG_CHUNK_BYTES)));
    expect(
      driven
        .tell(output(MAX_LOG_CHUNK_BYTES + 5))
        .pass(1_000)
        .message("report"),
    ).toBeUndefined();
  });

  test("a new start of the agent asks first what is stored", () => {
    const driven = new Driven({ attempts: [{ id: ID, main: { kind: "running" } }] });
    driven.tell({ type: "joined", setup: { ...SETUP, logsUrl: URL } }).tell(output(20_000_000));
    expect(chunks(driven)).toEqual([]);
    driven.order([run()], { logs: { [ID]: { stdout: 15_000_000 } } });
    expect(chunks(driven)).toMatchObject([{ from: 15_000_000, bytes: MAX_LOG_CHUNK_BYTES }]);
  });

  test("beyond the cap nothing is sent", () => {
    const driven = host().tell(output(MAX_LOG_BYTES + 7));
    driven.order([run()], { logs: { [ID]: { stdout: MAX_LOG_BYTES - CHUNK_FROM_BYTES } } });
    expect(chunks(driven)).toMatchObject([{ bytes: CHUNK_FROM_BYTES }]);
    expect(chunks(sendChunks(driven).tell(stored(MAX_LOG_BYTES)))).toEqual([]);
  });
});

test(`at most ${MAX_CHUNKS_IN_FLIGHT} are out, and each stream has its turn`, () => {
  const ids = ["a/main/1.1", "b/main/1.1", "c/main/1.1"];
  const driven = host(ids);
  for (const id of ids) driven.tell(output(50_000_000, id));
  const turns: string[] = [];
  for (let round = 0; round < 6; round += 1) {
    const [next] = chunks(driven.pass(1));
    turns.push(next?.id ?? "");
    if (next === undefined) break;
    driven.tell({ type: "chunk_sent", ...next });
    if (round >= MAX_CHUNKS_IN_FLIGHT - 1) {
      expect(chunks(driven)).toEqual([]);
      const id = turns[round - MAX_CHUNKS_IN_FLIGHT + 1] ?? "";
      driven.tell({ type: "chunk_stored", id, stream: "stdout", stored: (round + 1) * 1_000_000 });
    }
  }
  expect(turns).toEqual([...ids, ...ids]);
});

describe("a chunk that fails (host-protocol.md#back-off)", () => {
  const out = () => sendChunks(host().tell(output(20_000_000)));

  test.each([
    ["gets no answer", {}, BACKOFF_FIRST_MS],
    ["is put off by Retry-After", { retryAfterMs: 7_000 }, 7_000],
    ["is refused for what it is", { refused: true }, CHUNK_REFUSED_MS],
  ])("%s: the next is not sent before its time, and reports carry on meanwhile", (_, more, ms) => {
    const driven = out().tell(failed(more));
    expect(chunks(driven)).toEqual([]);
    expect(inReport(driven.pass(OUTPUT_REPORT_DELAY_MS))).toHaveLength(1);
    expect(chunks(driven.pass(ms - OUTPUT_REPORT_DELAY_MS - 1))).toEqual([]);
    expect(chunks(driven.pass(1))).toMatchObject([{ from: 0 }]);
  });

  test("is followed by a smaller one, for a slow network to get through; a good one by a larger", () => {
    const driven = out();
    const sizes: number[] = [];
    for (let tries = 0; tries < 6; tries += 1) {
      driven.tell(failed()).pass(60_000);
      sizes.push(chunks(driven)[0]?.bytes ?? 0);
      sendChunks(driven);
    }
    expect(sizes[0]).toBe(MAX_LOG_CHUNK_BYTES / 2);
    expect(sizes.at(-1)).toBe(LEAST_CHUNK_BYTES);
    expect(chunks(driven.tell(stored(LEAST_CHUNK_BYTES)))).toMatchObject([{ bytes: 2 * LEAST_CHUNK_BYTES }]);
  });

  test("an answer that brings nothing on is a failure too, not a tight loop", () => {
    expect(chunks(out().tell(stored(0)))).toEqual([]);
  });

  test("an answer of more than was sent is believed: an earlier try had been stored", () => {
    expect(chunks(out().tell(stored(9_000_000)))).toMatchObject([{ from: 9_000_000 }]);
  });
});

test("the last byte of what has ended is reported at once: only a report lets the worker end it", () => {
  const driven = host().tell(output(CHUNK_FROM_BYTES));
  sendChunks(driven)
    .tell({ type: "exited", id: ID, exit: EXIT })
    .tell({ type: "tree_gone", id: ID, killed: false });
  driven.send();
  driven.answer([run()]).pass(1_000).send();
  expect(driven.message("report")).toBeUndefined();
  expect(driven.tell(stored(CHUNK_FROM_BYTES)).message("report")).toBeDefined();
});

describe("the disk under what is stored is given back (decisions/files.md#holes)", () => {
  const punch = (driven: Driven) => driven.message("punch");
  /** What lies next to bytes that are still to be sent stays (redaction.md#re-reading). */
  const MARGIN = LONGEST_NEEDLE_BYTES;
  const storedUpTo = (bytes: number, size = bytes) =>
    host()
      .tell(output(size))
      .order([run()], { logs: { [ID]: { stdout: bytes } } });

  test.each([
    [PUNCH_STEP_BYTES + MARGIN - 1, undefined],
    [PUNCH_STEP_BYTES + MARGIN, { from: 0, end: PUNCH_STEP_BYTES }],
  ])("with %d bytes stored: %j", (bytes, range) => {
    const found = punch(storedUpTo(bytes));
    expect(found && { from: found.from, end: found.end }).toEqual(range);
  });

  test("once, and from there on", () => {
    const driven = storedUpTo(PUNCH_STEP_BYTES + MARGIN);
    driven.tell({ type: "punched", ...ship, from: 0, end: PUNCH_STEP_BYTES });
    expect(punch(driven)).toBeUndefined();
    const bytes = 2 * PUNCH_STEP_BYTES + MARGIN;
    driven.tell(output(bytes)).order([run()], { logs: { [ID]: { stdout: bytes } } });
    expect(punch(driven)).toMatchObject({ from: PUNCH_STEP_BYTES, end: 2 * PUNCH_STEP_BYTES });
  });

  test("what lies beyond the cap is of no use to anybody", () => {
    const from = MAX_LOG_BYTES + MARGIN;
    const size = from + PUNCH_STEP_BYTES;
    const driven = host().tell(output(size));
    expect(punch(driven)).toMatchObject({ from, end: size });
    driven.tell({ type: "punched", ...ship, from, end: size });
    expect(punch(driven)).toBeUndefined();
  });

  test("a machine that cannot is not asked again", () => {
    expect(punch(storedUpTo(PUNCH_STEP_BYTES + MARGIN).tell({ type: "punch_failed" }))).toBeUndefined();
  });

  test("what is about to be deleted needs none", () => {
    expect(punch(storedUpTo(PUNCH_STEP_BYTES + MARGIN).order([]))).toBeUndefined();
  });
});
