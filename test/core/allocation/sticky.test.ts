import { describe, expect, test } from "vitest";
import { allocationMachine } from "../../../src/core/allocation/machine.ts";
import { answerObserved } from "../../../src/core/allocation/placements/orders.ts";
import { SAVE_DATA_MS, savedBy } from "../../../src/core/allocation/placements/sticky.ts";
import { whyOf } from "../../../src/core/allocation/read/why.ts";
import type { EndedHow } from "../../../src/core/messages.ts";
import type { AttemptReport, StickySource } from "../../../src/schema/host.ts";
import type { RunSpecInput } from "../../../src/schema/run/run.ts";
import {
  abort,
  at,
  EXIT,
  ended,
  nothing,
  observed,
  owed,
  place,
  pool,
  RUN,
  runAt,
  type Submitted,
  started,
  T0,
} from "../support/allocation.ts";

// The data of a sticky run: decisions/runs.md#sticky-data; tasks.md#sticky-data.

const tasks = ["main", "other"].map((name) => ({ name, argv: [name], restart: { attempts: 0 } }));
const STICKY: Partial<RunSpecInput> = {
  argv: undefined,
  tasks,
  sticky: true,
  reschedule: { attempts: 5, delay: "5s" },
};
const DELAY = 5_000;

const failedIn = (epoch: number): AttemptReport[] =>
  ["main", "other"].map((name) => ({
    id: `${RUN}/${name}/${epoch}.1`,
    state: "exited",
    startedAgoMs: 1,
    exit: { ...EXIT, code: 1 },
  }));

const SNAPSHOT = `sha256:${"5".repeat(64)}`;
const STORED: AttemptReport["saved"] = { snapshot: SNAPSHOT, files: 2, bytes: 2_048 };
const TOO_LARGE: AttemptReport["saved"] = { error: "The data cannot be packed: too large." };

/** Both its tasks have failed in an epoch. What its host says of its data then, if anything. */
function over(state: Submitted, epoch = 1, worker = "w1", saved?: AttemptReport["saved"]): Submitted {
  const told = runAt(state, T0, observed(failedIn(epoch), { epoch, worker }));
  if (saved === undefined) return told;
  const reports = failedIn(epoch).map((one): AttemptReport => ({ ...one, saved }));
  return runAt(told, T0, observed(reports, { epoch, worker }));
}

/** It has failed in an epoch, its data could not be stored, and it wants another place by now. */
function failed(state: Submitted, epoch = 1, worker = "w1", saved = TOO_LARGE): Submitted {
  return runAt(over(state, epoch, worker, saved), T0 + DELAY, { type: "tick" });
}

/** Placed anew on a worker whose host has said this of it. */
function again(
  state: Submitted,
  epoch: number,
  worker: string,
  report: Partial<AttemptReport> = {},
): Submitted {
  const told: AttemptReport = { id: `${RUN}/main/${epoch}.1`, state: "running", startedAgoMs: 0, ...report };
  return runAt(state, T0 + DELAY, place(worker, epoch), observed([told], { epoch, worker }));
}

const fromOf = (state: Submitted) => {
  const [first] = owed(state, T0 + DELAY).order?.attempts ?? [];
  return first?.want === "run" ? first.sticky : undefined;
};
const dataEvents = ({ record }: Submitted) =>
  record.events
    .filter(({ type }) => type.startsWith("Data "))
    .map(({ type, message }) => `${type}: ${message}`);

describe("where it wants to be placed anew", () => {
  test("on the worker that keeps its data, though its tasks have failed there", () => {
    const state = failed(started(STICKY));
    expect(owed(state, T0 + DELAY).run).toMatchObject({ wants: "place", prefer: "w1", avoid: ["w1"] });
    const said = state.record.events.find(({ type }) => type === "Rescheduling")?.message;
    expect(said).toBe("it is placed again in 5s, on worker w1, which keeps its data, if possible");
  });

  test("nowhere in particular when the machine was lost, and the data with it", () => {
    const state = runAt(runAt(started(STICKY), T0, ended("lost")), T0 + DELAY, { type: "tick" });
    expect(owed(state, T0 + DELAY).run).toMatchObject({ wants: "place", prefer: null, avoid: ["w1"] });
  });

  test("still there when another has refused it in between", () => {
    const state = runAt(failed(started(STICKY)), T0 + DELAY, place("w2", 2), ended("refused", REFUSED));
    expect(owed(state, T0 + DELAY).run).toMatchObject({ wants: "place", prefer: "w1" });
  });

  test("a run that is not sticky says nothing of it", () => {
    const state = failed(started({ ...STICKY, sticky: undefined }));
    expect(owed(state, T0 + DELAY).run).toHaveProperty("prefer", null);
  });
});

const REFUSED = { epoch: 2, worker: "w2", held: false };

describe("which data its order names", () => {
  const placed = (state: Submitted, worker: string, epoch = 2) =>
    runAt(state, T0 + DELAY, place(worker, epoch));

  test.each<[string, () => Submitted, StickySource | undefined]>([
    ["none at first", () => runAt(nothing(), T0, submitted(), place()), { from: null }],
    [
      "those of the placement before, on the same worker",
      () => placed(failed(started(STICKY)), "w1"),
      { from: 1 },
    ],
    ["none on another worker", () => placed(failed(started(STICKY)), "w2"), { from: null }],
    [
      "those of the last that was taken",
      () =>
        placed(runAt(placed(failed(started(STICKY)), "w2"), T0 + DELAY, ended("refused", REFUSED)), "w1", 3),
      { from: 1 },
    ],
    [
      "none of older ones, once it was elsewhere",
      () => placed(failed(again(failed(started(STICKY)), 2, "w2"), 2, "w2"), "w1", 3),
      { from: null },
    ],
    [
      "those that are stored, on another worker",
      () => placed(failed(started(STICKY), 1, "w1", STORED), "w2"),
      { from: null, snapshot: SNAPSHOT },
    ],
    [
      "both on the same worker, where they may be kept no more",
      () => placed(failed(started(STICKY), 1, "w1", STORED), "w1"),
      { from: 1, snapshot: SNAPSHOT },
    ],
    [
      "the stored ones of an older placement, when those of the last could not be stored",
      () => placed(failed(again(failed(started(STICKY), 1, "w1", STORED), 2, "w2"), 2, "w2"), "w3", 3),
      { from: null, snapshot: SNAPSHOT },
    ],
    [
      "nothing, if it is not sticky",
      () => placed(failed(started({ ...STICKY, sticky: false })), "w1"),
      undefined,
    ],
  ])("%s", (_what, make, expected) => {
    expect(fromOf(make())).toEqual(expected);
  });
});

function submitted() {
  return {
    type: "submitted" as const,
    id: RUN,
    spec: started(STICKY).record.spec,
    hash: "h",
    by: "admin",
    project: "default",
    budget: null,
  };
}

describe("what the run says of its data", () => {
  const twice = (worker: string, report: Partial<AttemptReport> = {}) =>
    again(failed(started(STICKY)), 2, worker, report);
  const fetchedBy = (worker: string, report: Partial<AttemptReport> = {}) =>
    again(failed(started(STICKY), 1, "w1", STORED), 2, worker, report);
  const NOT_STORED = "Data Not Stored: its data could not be stored: The data cannot be packed: too large.";
  const KEPT = `Data Stored: its data (2 files, 2KiB) are stored as ${SNAPSHOT}`;

  test.each<[string, () => Submitted, string[]]>([
    ["nothing at first", () => started(STICKY), []],
    [
      "that they were moved, when the host says so",
      () => twice("w1", { data: "moved" }),
      [NOT_STORED, "Data Moved: its directories continue with what placement 1 left on this worker"],
    ],
    [
      "that they are lost, when the host says so",
      () => twice("w1", { data: "empty" }),
      [
        NOT_STORED,
        "Data Lost: it begins with empty directories: worker w1 has not kept its data of placement 1",
      ],
    ],
    [
      "that they are elsewhere and not stored, whatever the host says",
      () => twice("w2"),
      [
        NOT_STORED,
        "Data Lost: it begins with empty directories: its data stayed on worker w1 and were not stored: " +
          "The data cannot be packed: too large.",
      ],
    ],
    [
      "that they are stored, and were fetched",
      () => fetchedBy("w2", { data: "fetched" }),
      [KEPT, "Data Moved: its directories continue with what placement 1 left on worker w1"],
    ],
    [
      "that another host could not fetch them",
      () => fetchedBy("w2", { data: "empty" }),
      [KEPT, `Data Lost: it begins with empty directories: worker w2 could not fetch its data, ${SNAPSHOT}`],
    ],
    ["nothing yet while another host fetches them", () => fetchedBy("w2"), [KEPT]],
    [
      "that they were lost with their machine",
      () => again(runAt(runAt(started(STICKY), T0, ended("lost")), T0 + DELAY, { type: "tick" }), 2, "w2"),
      ["Data Lost: it begins with empty directories: its data stayed on worker w1, which was lost"],
    ],
    ["nothing of a move before its host says a word", () => twice("w1"), [NOT_STORED]],
  ])("%s", (_what, make, events) => {
    expect(dataEvents(make())).toEqual(events);
  });

  test("once for each placement", () => {
    const state = twice("w1", { data: "moved" });
    const reports = failedIn(2).map((one): AttemptReport => ({ ...one, data: "moved" }));
    const moved = (one: Submitted) =>
      one.record.events.filter(({ type }) => type === "Data Moved" || type === "Data Lost");
    const ended = runAt(state, T0 + DELAY, observed(reports, { epoch: 2 }));
    expect(moved(ended)).toHaveLength(1);
    expect(moved(again(failed(ended, 2), 3, "w2"))).toHaveLength(2);
  });
});

describe("N9: the data of a sticky run that failed are stored before it is placed again", () => {
  const order = (state: Submitted, now = T0) => owed(state, now).order?.attempts;
  const SAVE = ["main", "other"].map((name) => ({ id: `${RUN}/${name}/1.1`, save: true }));

  test("its host is ordered to, as soon as all of it has ended", () => {
    const [main] = failedIn(1);
    const half = runAt(started(STICKY), T0, observed(main === undefined ? [] : [main]));
    const saving = (one: Submitted) => answerObserved(one, question(), T0);
    expect(saving(half)).not.toMatchObject({ attempts: [{ save: true }] });
    expect(saving(over(started(STICKY)))).toMatchObject({ attempts: SAVE });
  });

  const question = () => ({ run: RUN, epoch: 1, worker: "w1", held: true, protocol: 1, attempts: [] });

  test.each<[string, AttemptReport["saved"]]>([
    ["stored", STORED],
    ["not to be stored", TOO_LARGE],
  ])("its place is kept until they are %s", (_what, saved) => {
    expect(over(started(STICKY)).record).toMatchObject({ endedEpoch: 0 });
    expect(over(started(STICKY), 1, "w1", saved).record).toMatchObject({
      endedEpoch: 1,
      placeAt: T0 + DELAY,
    });
  });

  test("it waits for that no longer than SAVE_DATA_MS, and `why` says until when (invariant 5)", () => {
    const waiting = over(started(STICKY));
    const by = T0 + SAVE_DATA_MS;
    expect(allocationMachine.wakeAt(waiting)).toBe(by);
    expect(whyOf(waiting, null, "w1", T0)).toMatchObject({
      reason: { code: "storing_data" },
      next: { action: "go on without them", at: new Date(by).toISOString() },
    });
    expect(runAt(waiting, by - 1, { type: "tick" }).record.endedEpoch).toBe(0);
    const late = again(runAt(runAt(waiting, by, { type: "tick" }), by + DELAY, { type: "tick" }), 2, "w2");
    expect(dataEvents(late)).toEqual([
      "Data Lost: it begins with empty directories: its data stayed on worker w1 and were not stored in time",
    ]);
  });

  const stoppedBy = (stopped: AttemptReport["stopped"]) => {
    const reports = failedIn(1).map((one): AttemptReport => ({ ...one, state: "stopping", stopped }));
    const stopping = runAt(started(STICKY), T0, observed(reports));
    return runAt(stopping, T0, observed(failedIn(1).map((one) => ({ ...one, stopped }))));
  };

  test("its host is ordered to also when it has stopped the run itself, for a machine that goes", () => {
    const attempts = answerObserved(stoppedBy("interruption"), question(), T0);
    expect(attempts).toMatchObject({ attempts: SAVE.map((one) => ({ ...one, want: "stop" })) });
  });

  test.each<[string, () => Submitted]>([
    ["was stopped by an agent that ends", () => stoppedBy("agent")],
    ["was stopped at the end of the lease", () => stoppedBy("lease")],
    ["is not sticky", () => over(started({ ...STICKY, sticky: false }))],
    ["is aborted meanwhile", () => runAt(over(started(STICKY)), T0, abort())],
    ["is not placed again", () => over(started({ ...STICKY, reschedule: { attempts: 0 } }))],
  ])("nothing is stored of a run that %s", (_what, make) => {
    const state = make();
    expect(order(state) ?? []).not.toContainEqual(expect.objectContaining({ save: true }));
    expect(savedBy(state.record)).toBeUndefined();
  });
});

describe("whether a host may drop what it keeps: only what will never be needed (rule R5)", () => {
  const ask = (state: Submitted, { epoch = 1, worker = "w1" } = {}) => {
    const question = { run: RUN, epoch, worker, held: false, protocol: 1, attempts: [], kept: true as const };
    expect(at(state, T0 + DELAY, { type: "observed", body: question }).record).toEqual(
      at(state, T0 + DELAY, { type: "tick" }).record,
    );
    const answer = answerObserved(state, question, T0 + DELAY);
    return answer.kind === "order" && answer.keep === true;
  };
  const lost = (how: EndedHow) => runAt(started(STICKY), T0, ended(how));

  test.each<[string, () => boolean, boolean]>([
    ["it waits for its next place", () => ask(failed(started(STICKY))), true],
    ["nobody has told it yet that the placement is over", () => ask(started(STICKY)), true],
    [
      "it has not heard anything of the placement",
      () => ask(runAt(nothing(), T0, submitted(), place())),
      true,
    ],
    ["it was lost to the control plane, and its host is back", () => ask(lost("lost")), true],
    ["it is placed elsewhere, and nothing is known of that yet", () => ask(placedElsewhere()), true],
    ["its next host has only heard of it, and begun nothing", () => ask(heardElsewhere()), true],
    ["it runs elsewhere", () => ask(again(failed(started(STICKY)), 2, "w2")), false],
    ["it goes on with them here", () => ask(again(failed(started(STICKY)), 2, "w1")), false],
    ["it has ended", () => ask(aborted()), false],
    ["it is not sticky", () => ask(failed(started({ ...STICKY, sticky: false }))), false],
    ["they are of another worker than it knows", () => ask(failed(started(STICKY)), { worker: "w9" }), false],
  ])("%s", (_what, answer, keep) => {
    expect(answer()).toBe(keep);
  });

  test("it does not exist any more", () => {
    const question = {
      run: RUN,
      epoch: 1,
      worker: "w1",
      held: false,
      protocol: 1,
      attempts: [],
      kept: true as const,
    };
    expect(answerObserved(nothing(), question, T0)).toEqual({ kind: "no_such" });
  });

  function placedElsewhere(): Submitted {
    return runAt(failed(started(STICKY)), T0 + DELAY, place("w2", 2));
  }

  function heardElsewhere(): Submitted {
    const waits = { id: `${RUN}/main/2.1`, state: "preparing" as const, waits: true };
    return runAt(placedElsewhere(), T0 + DELAY, observed([waits], { worker: "w2", epoch: 2 }));
  }

  function aborted(): Submitted {
    const wished = runAt(failed(started(STICKY)), T0 + DELAY, abort());
    const { version } = wished.record;
    return runAt(wished, T0 + DELAY, pool(version, { kind: "none", version }));
  }
});
