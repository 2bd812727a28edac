import { describe, expect, test } from "vitest";
import {
  EXCHANGE_TIMEOUT_MS,
  MAX_REPORT_LOG_BYTES,
  MAX_REPORT_STAMPS,
  OUTPUT_REPORT_DELAY_MS,
  STAMP_CHARS,
} from "../../../agent/core/bounds.ts";
import { hostMachine } from "../../../agent/core/host.ts";
import { EMPTY_ANSWER_PAUSE_MS, LOG_RETRY_FIRST_MS } from "../../../agent/core/reports/exchange.ts";
import { retryDelayMs } from "../../../agent/core/reports/pace.ts";
import { MAX_LOG_BYTES, MAX_REPORT_BYTES, START_REPORT_DELAY_MS } from "../../../src/shared/limits.ts";
import { MAX_STAMPS } from "../../../src/shared/time/stamps.ts";
import { busyHost, Driven, EXIT, ID, idleHost, run, SETUP, stop } from "./drive.ts";

const exited = { type: "exited", id: ID, exit: EXIT } as const;
const gone = { type: "tree_gone", id: ID, killed: false } as const;
const output = (size: number, id = ID) => ({ type: "output", id, stream: "stdout", size }) as const;

/** After how long, without any other event, the next report goes. */
function reportsIn(host: Driven): number | undefined {
  if (host.message("report") !== undefined) return 0;
  const at = hostMachine.wakeAt(host.state);
  return at === undefined ? undefined : at - host.now;
}

describe("when a report goes (host-protocol.md#report; budgets.md#budgets, requests per hot run)", () => {
  test.each<[string, () => Driven, number]>([
    [
      "nothing to say: it is held for a probe interval at most",
      () => idleHost(),
      10_000 + EXCHANGE_TIMEOUT_MS,
    ],
    ["ordered to run: it waits for more to say", () => idleHost().order([run()]), START_REPORT_DELAY_MS],
    ["launched: still since the order", () => launched(), START_REPORT_DELAY_MS - 300],
    ["output", () => busyHost().tell(output(1)), OUTPUT_REPORT_DELAY_MS],
    ["output that fills a report", () => busyHost().tell(output(MAX_REPORT_LOG_BYTES)), 0],
    ["ended, its tree alive", () => busyHost().tell(exited), START_REPORT_DELAY_MS],
    ["ended, tree and all", () => busyHost().tell(exited).tell(gone), 0],
    ["a stop begins", () => busyHost().order([stop()]), 0],
    ["a time limit passes", () => busyHost({ timeoutMs: 10 }).pass(10), 0],
    ["the boot probe has failed", () => booting().tell({ type: "probed", ok: false, output: "" }), 0],
    ["the boot probe has succeeded", () => booting().tell({ type: "probed", ok: true, output: "" }), 0],
    ["orders that change nothing here", () => idleHost().order([]), 0],
  ])("%s", (_, host, ms) => {
    expect(reportsIn(host())).toBe(ms);
  });

  const launched = () =>
    idleHost().order([run()]).pass(300).tell({ type: "launched", id: ID, by: "processes" });
  const booting = () => {
    const host = new Driven().tell({ type: "joined", setup: SETUP });
    host.send();
    return host;
  };

  test("news takes the place of a report that is held, under the next number (tasks.md#report-2)", () => {
    const host = busyHost().pass(START_REPORT_DELAY_MS);
    const held = host.send();
    host.tell(exited).tell(gone);
    expect(host.message("report")?.seq).toBe(held.seq + 1);
  });

  test("a report that is not held is awaited: its answer comes at once", () => {
    const host = busyHost().tell(output(5)).pass(OUTPUT_REPORT_DELAY_MS);
    expect(host.send().waitMs).toBe(0);
    expect(host.tell(exited).tell(gone).message("report")).toBeUndefined();
    expect(host.pass(EXCHANGE_TIMEOUT_MS).message("report")).toBeDefined();
  });

  test("an answer that comes at once and brings nothing is not spun on", () => {
    const host = idleHost().answer([]);
    expect(reportsIn(host)).toBe(EMPTY_ANSWER_PAUSE_MS);
  });

  test("an answer that was held to its end is followed by the next report at once", () => {
    expect(reportsIn(idleHost().pass(10_000).answer([]))).toBe(0);
  });
});

describe("when a report fails (host-protocol.md#back-off)", () => {
  test("full jitter: anything up to 1 s, doubling to 30 s (tasks.md#report-3)", () => {
    expect([0, 1, 2, 4, 5, 60].map((failures) => retryDelayMs(failures, 1))).toEqual([
      1_000, 2_000, 4_000, 16_000, 30_000, 30_000,
    ]);
    expect(retryDelayMs(5, 0)).toBe(0);
  });

  test.each([
    ["its own back-off", {}, 500],
    ["Retry-After, if that is longer", { retryAfterMs: 7_000 }, 7_000],
    ["its own back-off, if that is longer", { retryAfterMs: 1 }, 500],
  ])("it waits for %s, whatever happens", (_, more, ms) => {
    const host = busyHost().pass(START_REPORT_DELAY_MS);
    const { seq } = host.send();
    host
      .tell({ type: "report_failed", seq, random: 0.5, ...more })
      .tell(exited)
      .tell(gone);
    expect(reportsIn(host)).toBe(ms);
  });

  test("the failure of a report that another has taken the place of says nothing", () => {
    const host = busyHost().pass(START_REPORT_DELAY_MS);
    const { seq } = host.send();
    host.tell(exited).tell(gone);
    host.send();
    const before = host.state;
    expect(host.tell({ type: "report_failed", seq, random: 1 }).state).toEqual(before);
  });
});

describe("log bytes (host-protocol.md#logs)", () => {
  test("are asked about without waiting, and sent from what is acknowledged", () => {
    const host = busyHost().tell(output(10)).pass(OUTPUT_REPORT_DELAY_MS);
    expect(host.send()).toMatchObject({
      waitMs: 0,
      pieces: [{ id: ID, stream: "stdout", from: 0, bytes: 10 }],
    });
    host.answer([run()], { logs: { [ID]: { stdout: 4 } } });
    expect(host.message("report")?.pieces).toEqual([
      { id: ID, stream: "stdout", startedAt: 1_000, from: 4, bytes: 6 },
    ]);
  });

  test("that are not acknowledged are sent again, but not at once; until then the report is held", () => {
    const host = busyHost().tell(output(10)).pass(OUTPUT_REPORT_DELAY_MS);
    host.send();
    host.answer([run()]);
    const between = host.send();
    expect([between.pieces, between.waitMs]).toEqual([[], LOG_RETRY_FIRST_MS]);
    expect(between.report.attempts[0]?.log).toEqual({ stdout: { from: 0, size: 10 } });
    expect(host.pass(LOG_RETRY_FIRST_MS).send().pieces[0]?.bytes).toBe(10);
    host.answer([run()]);
    expect(host.send().waitMs).toBe(2 * LOG_RETRY_FIRST_MS);
  });

  test("beyond the cap are counted and never sent", () => {
    const host = busyHost().tell(output(MAX_LOG_BYTES + 7));
    host.send();
    host.answer([run()], { logs: { [ID]: { stdout: MAX_LOG_BYTES } } });
    const { waitMs, pieces, report } = host.send();
    expect([waitMs > 0, pieces]).toEqual([true, []]);
    expect(report.attempts[0]?.log?.stdout).toEqual({ from: MAX_LOG_BYTES, size: MAX_LOG_BYTES + 7 });
    expect(host.tell(output(MAX_LOG_BYTES + 99)).message("report")).toBeUndefined();
  });

  test("one that floods cannot silence the others", () => {
    const ids = ["a/main/1.1", "b/main/1.1", "c/main/1.1"];
    const host = idleHost().order(ids.map((id) => run(id)));
    for (const [index, id] of ids.entries()) {
      host.tell({ type: "launched", id, by: "processes" }).tell(output(index === 0 ? 100 : 50_000_000, id));
    }
    const [small, ...large] = host.send().pieces.map(({ bytes }) => bytes);
    expect(small).toBe(100);
    expect(large[0]).toBe(large[1]);
    expect(100 + (large[0] ?? 0) * 2).toBeGreaterThan(MAX_REPORT_LOG_BYTES - 3);
  });

  test.each([1, 3, 9])(
    "fill what the state and stamps of %i streams leave of 1 MiB, and no more",
    (floods) => {
      const ids = Array.from({ length: 300 }, (_, index) => `run-${index}/main/1.1`);
      const host = idleHost().order(ids.map((id) => run(id)));
      const startError = { code: "start_failed" as const, text: "é".repeat(300) };
      for (const id of ids.slice(floods))
        host.tell({ type: "launch_failed", id, startError }).tell({ ...gone, id });
      for (const id of ids.slice(0, floods)) {
        host.tell({ type: "launched", id, by: "processes" }).tell(output(5_000_000, id));
      }
      const { report, pieces } = host.send();
      const base64Bytes = pieces.reduce((sum, { bytes }) => sum + Math.ceil(bytes / 3) * 4, 0);
      const bytes = Buffer.byteLength(JSON.stringify(report)) + base64Bytes;
      const stampBytes = Math.min(MAX_REPORT_STAMPS, floods * MAX_STAMPS) * STAMP_CHARS;
      expect(bytes + stampBytes).toBeLessThan(MAX_REPORT_BYTES);
      expect(bytes + stampBytes).toBeGreaterThan(MAX_REPORT_BYTES - 2_048);
    },
  );
});

describe("the boot probe (host-protocol.md#boot)", () => {
  test("runs at once, then every interval, until it has succeeded", () => {
    const host = new Driven().tell({ type: "joined", setup: SETUP });
    expect(host.message("probe")?.command).toBe("true");
    host.tell({ type: "probed", ok: false, output: "no" });
    expect(host.message("probe")).toBeUndefined();
    expect(host.pass(10_000).message("probe")).toBeDefined();
    host.tell({ type: "probed", ok: true, output: "yes" });
    expect(host.pass(60_000).message("probe")).toBeUndefined();
  });

  test("its success is repeated until a report that says so is answered", () => {
    const host = new Driven()
      .tell({ type: "joined", setup: SETUP })
      .tell({ type: "probed", ok: true, output: "" });
    const { seq } = host.send();
    host.tell({ type: "report_failed", seq, random: 0 });
    expect(host.send().report.boot?.ok).toBe(true);
    host.answer([], { revision: 1 });
    expect(host.send().report.boot).toBeUndefined();
  });
});
