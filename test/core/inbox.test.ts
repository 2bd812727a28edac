import { describe, expect, test } from "vitest";
import { allocationInbox } from "../../src/core/allocation/inbox.ts";
import { allocationMachine } from "../../src/core/allocation/machine.ts";
import { upsertOf } from "../../src/core/allocation/summary.ts";
import type { Message, Receiver } from "../../src/core/inbox.ts";
import { poolInbox } from "../../src/core/pool/inbox.ts";
import { poolMachine } from "../../src/core/pool/machine.ts";
import { workerInbox } from "../../src/core/worker/inbox.ts";
import { workerMachine } from "../../src/core/worker/machine.ts";
import { Actor } from "../../src/objects/actor.ts";
import { type Mailboxes, post, receive } from "../../src/objects/messages/post.ts";
import type { AttemptReport } from "../../src/schema/host.ts";
import {
  at,
  exited,
  owed,
  REF,
  RUN,
  runAt,
  started,
  submit,
  T0,
  nothing as without,
} from "./support/allocation.ts";
import { pool } from "./support/pool.ts";
import { holding, runningOf, nothing as unborn, owed as workerOwes } from "./support/worker.ts";

/** Mailboxes that answer each message in the same way, and note it. */
function mailboxes(answer: unknown): { all: Mailboxes; told: [string, Message<Receiver>][] } {
  const told: [string, Message<Receiver>][] = [];
  const boxOf = (object: string) => (name: string) => ({
    deliver: async (message: Message<Receiver>) => {
      told.push([`${object} ${name}`, message]);
      return answer as never; // whatever the test wants
    },
  });
  return {
    all: {
      allocation: boxOf("allocation"),
      worker: boxOf("worker"),
      pool: boxOf("pool"),
      webhook: boxOf("webhook"),
    },
    told,
  };
}

describe("a message is an event of its receiver, its answer one of its sender (messages.md#inboxes)", () => {
  test("it arrives under its kind, and comes back with what was sent", async () => {
    const [letter] = allocationMachine.due(at(without(), T0, submit()), T0);
    if (letter?.kind !== "run") throw new Error("the pool is not told");
    const { all, told } = mailboxes({ kind: "queued" });
    const event = await post(all, letter);
    expect(told).toEqual([["pool default", { type: "run", body: letter.body }]]);
    expect(event).toEqual({ type: "run_answered", sent: letter.body, answer: { kind: "queued" } });
  });

  test("what is delivered twice is answered twice, from the state that there is then (rule R6)", () => {
    let state = started();
    const actor = {
      apply: (message: Message<"allocation">) => {
        state = runAt(state, T0, message);
        return state;
      },
    };
    const message = { type: "poke_run" as const, body: REF };
    for (const _twice of [1, 2]) {
      const answer = receive(allocationInbox, actor, message, T0);
      expect(answer).toEqual({ kind: "run", run: upsertOf(state) });
    }
  });

  test("step and answer have one instant: a clock that runs on loses no order (rule R6)", () => {
    const tasks = [
      { name: "main", argv: ["true"] },
      { name: "side", argv: ["true"], lifecycle: { hook: "prestart" as const, sidecar: true } },
    ];
    const living = { state: "running" as const, startedAgoMs: 10 };
    const [main, side] = [`${RUN}/main/1.1`, `${RUN}/side/1.1`];
    let clock = T0;
    const now = () => {
      clock += 1;
      return clock;
    };
    const actor = new Actor(allocationMachine, {
      now,
      load: () => started({ argv: undefined, tasks }),
      commit: (write) => write(),
      save: () => undefined,
      wake: () => undefined,
      send: () => new Promise(() => undefined),
      timer: () => () => undefined,
      failed: () => undefined,
      isChecked: () => true,
      violated: (violations) => expect(violations).toEqual([]),
    });
    const says = (attempts: AttemptReport[]) => {
      const body = { run: RUN, epoch: 1, worker: "w1", held: true, protocol: 0, attempts };
      return receive(allocationInbox, actor, { type: "observed", body }, now());
    };
    says([{ ...living, id: side }]);
    says([main, side].map((id) => ({ ...living, id })));
    const answer = says([
      { ...exited(), id: main },
      { ...living, id: side },
    ]);
    const wanted = answer.kind === "order" ? answer.attempts : [];
    expect(wanted.find(({ id }) => id === side)?.want).toBe("stop");
  });

  test("no kind is written twice: what is delivered means one thing", () => {
    const kinds = [allocationInbox, workerInbox, poolInbox].flatMap((inbox) => Object.keys(inbox));
    expect(new Set(kinds).size).toBe(kinds.length);
  });
});

describe("what does not exist is not brought about by a message (rule R6)", () => {
  const WORKER = { worker: "default-s-1" };
  test.each<Message<"worker">>([
    { type: "drain_worker", body: WORKER },
    { type: "make_room", body: WORKER },
    { type: "turn", body: { ...WORKER, version: 1 } },
    { type: "kill_worker", body: { ...WORKER, reason: "forced", by: "ann" } },
    { type: "poke_worker", body: WORKER },
  ])("a worker: $type", (message) => {
    const actor = { apply: (event: Message<"worker">) => workerMachine.apply(unborn(), event, T0) };
    expect(actor.apply(message).memo).toEqual(unborn().memo);
    expect(receive(workerInbox, actor, message, T0)).toEqual({ kind: "no_such" });
  });

  test("a pool: word of a worker", () => {
    const [body] = workerOwes(holding(["a"]), T0, "worker");
    if (body === undefined) throw new Error("the pool is not told");
    const actor = { apply: (event: Message<"pool">) => poolMachine.apply(pool(null), event, T0) };
    expect(receive(poolInbox, actor, { type: "worker", body }, T0)).toEqual({ kind: "no_such" });
  });

  test("a run: the end by force of another submission under its id", () => {
    const end = { ...REF, reason: "its pool is deleted", by: "ann" };
    const another = { type: "end_run" as const, body: { ...end, submittedAt: T0 - 1 } };
    expect(runAt(started(), T0 + 1, another).record).toEqual(started().record);
    const ended = runAt(started(), T0 + 1, { type: "end_run", body: end });
    expect(ended.record).toMatchObject({
      stopRequest: { state: "aborted", by: "ann" },
      forced: { by: "ann" },
    });
    expect(owed(ended, T0 + 1).order?.attempts).toMatchObject([{ want: "stop", signal: "SIGKILL" }]);
  });

  test("a run that another one replaces ends with all its grace (pool.md#replacing)", () => {
    const body = { ...REF, reason: "run b replaces it", by: "ann", graceful: true };
    const ended = runAt(started(), T0 + 1, { type: "end_run", body });
    expect(ended.record).toMatchObject({ stopRequest: { state: "aborted", reason: "run b replaces it" } });
    expect(ended.record?.forced).toBeUndefined();
    expect(owed(ended, T0 + 1).order?.attempts).toMatchObject([{ want: "stop", signal: "SIGTERM" }]);
  });
});

test("what is said of two placements of one run is under way at the same time (R7)", () => {
  const { placements } = holding(["a"]);
  expect([...placements.live()]).toHaveLength(1);
  const reported = [runningOf("a"), { ...runningOf("a", 2) }];
  const state = workerMachine.apply(
    holding(["a"]),
    { type: "report", report: { incarnation: 1, seq: 2, full: true, ordersSeen: 0, attempts: reported } },
    T0,
  );
  const letters = workerMachine.due(state, T0).filter(({ kind }) => kind === "observed");
  expect(letters.map(({ to, about }) => [to, about])).toEqual([
    ["a", "1"],
    ["a", "2"],
  ]);
});
