import { describe, expect, test } from "vitest";
import { answerObserved } from "../../../src/core/allocation/orders.ts";
import type { EndedHow } from "../../../src/core/messages.ts";
import type { AttemptReport } from "../../../src/schema/host.ts";
import type { RunSpecInput } from "../../../src/schema/run.ts";
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

// The data of a sticky run: decisions.md, previous data; nomad.md §5.4.

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

/** It has failed in an epoch, and wants another place by now. */
function failed(state: Submitted, epoch = 1, worker = "w1"): Submitted {
  return runAt(runAt(state, T0, observed(failedIn(epoch), { epoch, worker })), T0 + DELAY, {
    type: "tick",
  });
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
    expect(owed(state, T0 + DELAY).upsert).toMatchObject({ wants: "place", prefer: "w1", avoid: ["w1"] });
    const said = state.record.events.find(({ type }) => type === "Rescheduling")?.message;
    expect(said).toBe("it is placed anew in 5s, on worker w1, which keeps its data, if that can take it");
  });

  test("nowhere in particular when the machine was lost, and the data with it", () => {
    const state = runAt(runAt(started(STICKY), T0, ended("lost")), T0 + DELAY, { type: "tick" });
    expect(owed(state, T0 + DELAY).upsert).toMatchObject({ wants: "place", prefer: null, avoid: ["w1"] });
  });

  test("still there when another has refused it in between", () => {
    const state = runAt(failed(started(STICKY)), T0 + DELAY, place("w2", 2), ended("refused", REFUSED));
    expect(owed(state, T0 + DELAY).upsert).toMatchObject({ wants: "place", prefer: "w1" });
  });

  test("a run that is not sticky says nothing of it", () => {
    const state = failed(started({ ...STICKY, sticky: undefined }));
    expect(owed(state, T0 + DELAY).upsert).not.toHaveProperty("prefer");
  });
});

const REFUSED = { epoch: 2, worker: "w2", held: false };

describe("which data its order names", () => {
  const placed = (state: Submitted, worker: string, epoch = 2) =>
    runAt(state, T0 + DELAY, place(worker, epoch));

  test.each<[string, () => Submitted, { from: number | null } | undefined]>([
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
      "nothing, if it is not sticky",
      () => placed(failed(started({ ...STICKY, sticky: false })), "w1"),
      undefined,
    ],
  ])("%s", (_what, make, expected) => {
    expect(fromOf(make())).toEqual(expected);
  });
});

function submitted() {
  return { type: "submitted" as const, id: RUN, spec: started(STICKY).record.spec, hash: "h" };
}

describe("what the run says of its data", () => {
  const twice = (worker: string, report: Partial<AttemptReport> = {}) =>
    again(failed(started(STICKY)), 2, worker, report);

  test.each<[string, () => Submitted, string[]]>([
    ["nothing at first", () => started(STICKY), []],
    [
      "that they were moved, when the host says so",
      () => twice("w1", { data: "moved" }),
      ["Data Moved: its directories go on with what placement 1 has left on this worker"],
    ],
    [
      "that they are lost, when the host says so",
      () => twice("w1", { data: "empty" }),
      ["Data Lost: it begins with empty directories: worker w1 has not kept its data of placement 1"],
    ],
    [
      "that they are elsewhere, whatever the host says",
      () => twice("w2"),
      [
        "Data Lost: it begins with empty directories: its data were on worker w1; what another one " +
          "needs belongs into `outputs`",
      ],
    ],
    ["nothing before an agent that knows no data says a word", () => twice("w1"), []],
  ])("%s", (_what, make, events) => {
    expect(dataEvents(make())).toEqual(events);
  });

  test("once for each placement", () => {
    const state = twice("w1", { data: "moved" });
    const reports = failedIn(2).map((one): AttemptReport => ({ ...one, data: "moved" }));
    const over = runAt(state, T0 + DELAY, observed(reports, { epoch: 2 }));
    expect(dataEvents(over)).toHaveLength(1);
    expect(dataEvents(again(runAt(over, T0 + 2 * DELAY, { type: "tick" }), 3, "w2"))).toHaveLength(2);
  });
});

describe("whether a host may drop what it keeps: only what will never be needed (rule R5)", () => {
  const ask = (state: Submitted, { epoch = 1, worker = "w1" } = {}) => {
    const question = { run: RUN, epoch, worker, held: false, attempts: [], kept: true as const };
    expect(at(state, T0 + DELAY, { type: "observed", observed: question }).record).toEqual(
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
    const question = { run: RUN, epoch: 1, worker: "w1", held: false, attempts: [], kept: true as const };
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
