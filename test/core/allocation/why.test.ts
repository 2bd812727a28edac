import { describe, expect, test } from "vitest";
import { whyOf } from "../../../src/core/allocation/read/why.ts";
import { Why } from "../../../src/schema/why.ts";
import { LAST_BYTE_MS } from "../../../src/shared/limits.ts";
import {
  abort,
  ended,
  exited,
  exitedButUnlogged,
  observed,
  ordered,
  queued,
  RUN,
  runAt,
  type Submitted,
  started,
  T0,
} from "../support/allocation.ts";

const iso = (ms: number) => new Date(T0 + ms).toISOString();
const ofPool: Why = {
  state: "pending",
  reason: { code: "machine_booting", text: "a machine for it is booting" },
  next: { action: "place it as soon as the machine is ready", at: null },
  chain: [{ what: "worker w1", state: "booting", text: "booting" }],
};
const ofWorker: Why = { ...ofPool, state: "running", reason: { code: "running", text: "ready" }, chain: [] };

// Nothing waits without a reason, a deadline and an owner (invariant 5).
describe("a run says why it is where it is, and what happens next, when", () => {
  test.each<[string, Submitted, Why | null, string | null, string, Why["next"]]>([
    ["it waits, and its pool knows why", queued(), ofPool, null, "machine_booting", ofPool.next],
    ["it waits, and its pool is silent", queued(), null, null, "waiting", { action: "place it", at: null }],
    [
      "it waits for so long",
      queued({ queueTimeout: "1h" }),
      null,
      null,
      "waiting",
      { action: "give up", at: iso(3_600_000) },
    ],
    [
      "it is placed",
      ordered(),
      ofWorker,
      "w1",
      "starting",
      { action: "wait for its host to start it", at: null },
    ],
    ["it runs", started(), ofWorker, "w1", "running", { action: "wait for it to end", at: null }],
    [
      "it runs for so long",
      started({ timeout: "1m" }),
      ofWorker,
      "w1",
      "running",
      { action: "stop it: its time is over", at: iso(60_000) },
    ],
    [
      "it is being stopped",
      runAt(started(), T0, abort()),
      ofWorker,
      "w1",
      "stopping",
      { action: "wait for the host to confirm", at: null },
    ],
    [
      "it is aborted in the queue",
      runAt(queued(), T0, abort()),
      null,
      null,
      "stopping",
      { action: "wait for the pool to confirm", at: null },
    ],
    [
      "the last of its logs is on the way",
      runAt(started(), T0, observed([exitedButUnlogged])),
      ofWorker,
      "w1",
      "last_bytes",
      { action: "end without them", at: iso(LAST_BYTE_MS) },
    ],
    [
      "it has ended",
      runAt(started(), T0, observed([exited()])),
      null,
      null,
      "ended",
      { action: "nothing: it has ended", at: null },
    ],
    [
      "it was lost",
      runAt(started(), T0, ended("lost")),
      null,
      null,
      "machine_lost",
      { action: "nothing: it has ended", at: null },
    ],
  ])("%s", (_what, run, other, worker, code, next) => {
    const why = whyOf(run, other, worker, T0);
    expect(why).toMatchObject({ reason: { code }, next });
    expect(why.reason.text).not.toBe("");
    expect(Why.parse(why)).toEqual(why);
  });

  test("it names whom it waits for, from the run to the machine", () => {
    expect(whyOf(queued(), ofPool, null, T0).chain.map(({ what }) => what)).toEqual([
      `run ${RUN}`,
      "pool default",
      "worker w1",
    ]);
    expect(whyOf(started(), ofWorker, "w1", T0).chain.map(({ what }) => what)).toEqual([
      `run ${RUN}`,
      "worker w1",
    ]);
    expect(whyOf(runAt(started(), T0, ended("lost")), ofWorker, "w1", T0).chain).toHaveLength(1);
  });

  test("what stops it is said with the signal and the time", () => {
    const { text } = whyOf(runAt(started({ killSignal: "SIGINT" }), T0, abort()), null, "w1", T0).reason;
    expect(text).toBe("it is being stopped (enough); its command gets SIGINT, and is killed after 5s");
  });
});
