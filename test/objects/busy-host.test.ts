import { expect, test } from "vitest";
import { REPEAT_AFTER_CRASH_MS } from "../../src/objects/actor.ts";
import { meter } from "../../src/objects/meter.ts";
import type { HostFrame } from "../../src/schema/host.ts";
import { openSocket } from "./support/socket-host.ts";
import {
  bootMachine,
  eventually,
  freshWorld,
  letAlarmsFire,
  makePool,
  objects,
  submit,
} from "./support/world.ts";

const world = freshWorld();

const RUNS = 20;
/** The record twice; the row in the pool three times; the placement twice (budgets.md#many-at-once). */
const ROWS_WITHOUT_ALARMS = 7;
/** The submission, its word to the pool, the place, the order, the end, and its word to the pool. */
const REQUESTS = 6;
/** What does not grow with the runs: the counts of the pool, a renewed lease, an alarm that fires. */
const BESIDE = 6;
const EXITED = {
  state: "exited" as const,
  startedAgoMs: 5,
  endedAgoMs: 1,
  exit: { code: 0, signal: null, oomKilled: false, message: "" },
};

test("runs that wait cost 7 rows, an alarm and 6 requests each (budgets.md#many-at-once)", async () => {
  await makePool({ maxInstances: 1 });
  await submit("warm-up");
  const { worker, host } = await bootMachine(world.cloud);
  const socket = await openSocket(host);
  await socket.report(host, { attempts: [{ id: "warm-up/main/1.1", ...EXITED }] });
  await socket.orders(({ attempts }) => attempts.length === 0);
  await letAlarmsFire(worker);
  socket.frames.length = 0;
  const before = { ...meter };
  const beganAt = performance.now();

  const ids = Array.from({ length: RUNS }, (_, n) => `run-${n}`);
  await Promise.all(ids.map((id) => submit(id, { resources: { vcpus: 2 } })));
  const ended = new Set<string>();
  let read = 0;
  let reports = 0;
  let lastSeq = 0;
  while (ended.size < RUNS) {
    await eventually(() => socket.frames.length > read || undefined);
    const fresh = socket.frames.slice(read).flatMap(startedBy);
    read = socket.frames.length;
    const begun = [...new Set(fresh)].filter((id) => !ended.has(id));
    for (const id of begun) ended.add(id);
    if (begun.length === 0) continue;
    const report = host.next({ full: false, attempts: begun.map((id) => ({ id, ...EXITED })) });
    socket.send(report);
    lastSeq = report.seq;
    reports += 1;
  }
  let questions = 0;
  await eventually(async () => {
    questions += 1;
    const { items } = await objects
      .pool("default")
      .list({ states: ["complete"], labels: {} }, { limit: 100 });
    return items.length === RUNS + 1 || undefined;
  });
  await socket.orders(({ attempts, answers }) => attempts.length === 0 && answers >= lastSeq);

  const alarms = meter.alarmsSet - before.alarmsSet;
  const rows = meter.rowsWritten - before.rowsWritten - alarms;
  // Reports are billed as a twentieth of a request, and questions of this test are none of a run.
  const requests = meter.requests - before.requests - reports - questions;
  const frames = socket.frames.length;
  console.info(
    `${RUNS} runs on a busy host: ${rows} rows, ${alarms} alarms, ${frames} frames, ${requests} requests`,
  );
  expect(rows).toBeLessThanOrEqual(ROWS_WITHOUT_ALARMS * RUNS + BESIDE);
  // An alarm that fires is a request, too; on a machine that is not busy none does.
  expect(requests).toBeLessThanOrEqual(REQUESTS * RUNS + alarms + BESIDE);
  // A frame for each order, and on a slow machine one for each report and for each end.
  expect(frames).toBeLessThanOrEqual(3 * RUNS);
  // Later the first alarms have fired, and ends need others (budgets.md#alarms-of-a-run).
  if (performance.now() - beganAt < REPEAT_AFTER_CRASH_MS) expect(alarms).toBeLessThanOrEqual(RUNS + BESIDE);
});

/** The attempts that a frame orders. */
function startedBy(frame: HostFrame): string[] {
  if (!("revision" in frame)) return [];
  return frame.attempts.flatMap(({ id, want }) => (want === "run" ? [id] : []));
}
