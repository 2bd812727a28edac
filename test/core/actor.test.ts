import { describe, expect, test } from "vitest";
import { loadedAllocation } from "../../src/core/allocation/load.ts";
import { type AllocationEvent, allocationMachine } from "../../src/core/allocation/machine.ts";
import {
  Actor,
  LOOK_AGAIN_MS,
  REPEAT_AFTER_CRASH_MS,
  RETRY_FIRST_MS,
  SEND_TIMEOUT_MS,
} from "../../src/objects/actor.ts";
import { MAX_IN_FLIGHT, RETRY_LONGEST_MS } from "../../src/shared/limits.ts";
import type { Violation } from "../../src/shared/machine.ts";
import { place, submit } from "./support/allocation.ts";
import { type TinyEvent, type TinyState, TinyWorld, tiny, tinyMachine } from "./support/tiny.ts";

const owe = (to: string, text = "hello"): TinyEvent => ({ type: "owe", to, text });
const done = (to: string): TinyEvent => ({ type: "done", to });
const nothing: TinyEvent = { type: "settled nothing" };

describe("load, apply, commit, send (shell.md#shell)", () => {
  test("the state is loaded once, and stored before anything is sent (R1)", () => {
    const { world, actor } = tiny();
    world.send = (message) => {
      expect(world.stored.owes).toEqual({ b: "hello" });
      world.sent.push({ message, at: 0, reply: async () => undefined, fail: async () => undefined });
      return new Promise(() => undefined);
    };
    expect(actor.apply(owe("b")).owes).toEqual({ b: "hello" });
    expect(world.sent).toHaveLength(1);
    expect([world.loads, world.commits]).toEqual([1, 1]);
  });

  test("a reply is an event like any other, and what it settles is not sent again", async () => {
    const { world, actor, pass } = tiny();
    actor.apply(owe("b"));
    await world.last.reply(done("b"));
    expect(actor.state).toMatchObject({ owes: {}, events: ["owe", "done"] });
    pass(60_000);
    expect(world.sent).toHaveLength(1);
    expect(world.failures).toEqual([]);
  });

  test("a commit that fails leaves what is stored, sends nothing, and is heard of", () => {
    const { world, actor } = tiny();
    actor.apply(owe("b", "one"));
    world.crashes = true;
    expect(() => actor.apply(owe("b", "two"))).toThrow("the disk is gone");
    world.crashes = false;
    expect(actor.state.owes).toEqual({ b: "one" });
    expect(world.loads).toBe(2);
    expect(world.sent.map(({ message }) => message.text)).toEqual(["one"]);
  });

  test("so does a machine that fails", () => {
    const { world, actor } = tiny();
    actor.apply(owe("b"));
    expect(() => actor.apply({ type: "unbearable" })).toThrow("unbearable");
    expect(actor.state.owes).toEqual({ b: "hello" });
    expect([world.loads, world.commits]).toEqual([2, 1]);
  });

  test("what is stored already is not committed again, and what is due is sent all the same", () => {
    const { world, actor } = tiny();
    const asked: TinyState[] = [];
    world.isStored = (state) => {
      asked.push(state);
      return true;
    };
    expect(actor.apply(owe("b"))).toBe(asked[0]);
    expect(world.commits).toBe(0);
    expect(world.sent.map(({ message }) => message.to)).toEqual(["b"]);
    world.isStored = () => false;
    actor.apply({ type: "tick" });
    expect(world.commits).toBe(1);
  });

  test("a reply whose commit fails is lost, and the message is sent again", async () => {
    const { world, actor, pass } = tiny();
    actor.apply(owe("b"));
    world.crashes = true;
    await world.last.reply(done("b"));
    world.crashes = false;
    expect(world.failures).toMatchObject([{ tries: 1, text: "the disk is gone" }]);
    pass(RETRY_FIRST_MS);
    expect(world.sent).toHaveLength(2);
  });
});

describe("a step that breaks an invariant (shell.md#assertions)", () => {
  const broken: Violation = { machine: "tiny", rule: "shell.md#machine", what: "it owes too much" };

  function greedy(
    judge = (after: TinyState) => (Object.keys(after.owes).length > 1 ? broken.what : undefined),
  ) {
    const world = new TinyWorld();
    const invariants = [
      { rule: broken.rule, broken: (_before: TinyState, after: TinyState) => judge(after) },
    ];
    return { world, actor: new Actor({ ...tinyMachine("self"), invariants }, world) };
  }

  test("is told, and its result is stored, sent and returned as any", () => {
    const { world, actor } = greedy();
    actor.apply(owe("b"));
    expect(world.violations).toEqual([]);
    world.violated = (violations) => {
      expect(world.stored.owes).toEqual({ b: "hello", c: "hello" });
      world.violations.push(...violations);
    };
    expect(actor.apply(owe("c")).owes).toEqual({ b: "hello", c: "hello" });
    expect(world.violations).toEqual([broken]);
    expect(world.sent.map(({ message }) => message.to)).toEqual(["b", "c"]);
  });

  test("is not told if its result could not be stored: nothing has come of it", () => {
    const { world, actor } = greedy();
    actor.apply(owe("b"));
    world.crashes = true;
    expect(() => actor.apply(owe("c"))).toThrow("the disk is gone");
    expect(world.violations).toEqual([]);
  });

  test("is not seen if that step is not in the sample", () => {
    const { world, actor } = greedy();
    world.isChecked = () => false;
    actor.apply(owe("b"));
    expect(actor.apply(owe("c")).owes).toEqual({ b: "hello", c: "hello" });
    expect(world.violations).toEqual([]);
  });

  test("is one that cannot be judged, too, and loses nothing either", () => {
    const { world, actor } = greedy(() => {
      throw new Error("oh");
    });
    expect(actor.apply(owe("b")).owes).toEqual({ b: "hello" });
    expect(world.violations).toEqual([{ ...broken, what: "cannot be judged: Error: oh" }]);
  });

  test.each([0.5, Number.NaN, Number.POSITIVE_INFINITY])(
    "is one that leaves the alarm at %s, which never comes (rules.md#invariant-5)",
    (at) => {
      const { world, actor } = tiny();
      actor.apply({ type: "wake", at });
      const what = `it asks to be woken at ${at}`;
      expect(world.violations).toEqual([{ machine: "tiny", rule: "rules.md#invariant-5", what }]);
    },
  );
});

describe("one message in flight for each destination and kind (R7)", () => {
  test("what changes meanwhile goes out when the first is answered, and only as it is then", async () => {
    const { world, actor } = tiny();
    for (const text of ["one", "two", "three"]) actor.apply(owe("b", text));
    expect(world.sent.map(({ message }) => message.text)).toEqual(["one"]);
    await world.last.reply(nothing);
    expect(world.sent.map(({ message }) => message.text)).toEqual(["one", "three"]);
    expect(world.failures).toEqual([]);
  });

  test("destinations do not wait for each other", () => {
    const { world, actor } = tiny();
    actor.apply(owe("b"));
    actor.apply(owe("c"));
    expect(world.sent.map(({ message }) => message.to)).toEqual(["b", "c"]);
  });

  test("nor do messages that are about different things", () => {
    const { world, actor } = tiny();
    actor.apply(owe("b", "one"));
    actor.apply(owe("b/2", "two"));
    expect(world.sent.map(({ message: { to, about, text } }) => [to, about, text])).toEqual([
      ["b", undefined, "one"],
      ["b", "2", "two"],
    ]);
  });

  test("MAX_IN_FLIGHT in all: the next one goes out when one of them is through", async () => {
    const { world, actor } = tiny();
    for (let i = 0; i < MAX_IN_FLIGHT; i += 1) actor.apply(owe(`b${i}`));
    expect(world.sent).toHaveLength(MAX_IN_FLIGHT);
    actor.apply(owe("late"));
    expect(world.sent).toHaveLength(MAX_IN_FLIGHT);
    await world.sent[0]?.reply(done("b0"));
    expect(world.sent).toHaveLength(MAX_IN_FLIGHT + 1);
    expect(world.last.message.to).toBe("late");
  });

  test("one that waits for its turn has an alarm, whoever else might repeat it", () => {
    const { world, actor } = tiny("peer");
    for (let i = 0; i < MAX_IN_FLIGHT; i += 1) actor.apply(owe(`b${i}`));
    expect(world.alarm).toBeUndefined();
    actor.apply(owe("late"));
    expect(world.alarm).toBe(world.time + RETRY_FIRST_MS);
  });
});

describe("a message that fails is sent again after a back-off (R7)", () => {
  test("of RETRY_FIRST_MS, doubling to RETRY_LONGEST_MS", async () => {
    const { world, actor, pass } = tiny();
    actor.apply(owe("b"));
    const delays: number[] = [];
    for (let i = 1; i <= 9; i += 1) {
      await world.last.fail();
      const delay = (world.alarm ?? 0) - world.time;
      pass(delay - 1);
      expect(world.sent).toHaveLength(i);
      pass(1);
      expect(world.sent).toHaveLength(i + 1);
      delays.push(delay);
    }
    expect(delays[0]).toBe(RETRY_FIRST_MS);
    expect(delays).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60].map((s) => s * 1_000));
    expect(delays.at(-1)).toBe(RETRY_LONGEST_MS);
    expect(world.failures.map(({ tries }) => tries)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test("a reply after which the very same is still owed settles nothing: that is a failure", async () => {
    const { world, actor, pass } = tiny();
    actor.apply(owe("b"));
    await world.last.reply(nothing);
    expect(world.failures).toMatchObject([{ tries: 1, text: "the reply settled nothing" }]);
    expect(world.sent).toHaveLength(1);
    pass(RETRY_FIRST_MS);
    await world.last.reply(nothing);
    expect((world.alarm ?? 0) - world.time).toBe(2 * RETRY_FIRST_MS);
  });

  test.each([
    [SEND_TIMEOUT_MS - 1, 0],
    [SEND_TIMEOUT_MS, 1],
  ])("a call that hangs for %d ms has failed %d times (SEND_TIMEOUT_MS)", async (ms, failures) => {
    const { world, actor } = tiny();
    actor.apply(owe("b"));
    await world.pass(ms);
    expect(world.failures).toHaveLength(failures);
    expect(actor.busy("tell")).toBe(failures === 0);
  });

  test("the reply of a call that was given up is not believed any more: it is asked again", async () => {
    const { world, actor, pass } = tiny();
    actor.apply(owe("b"));
    await world.pass(SEND_TIMEOUT_MS);
    await world.last.reply(done("b"));
    expect(actor.state.owes).toEqual({ b: "hello" });
    pass(RETRY_FIRST_MS);
    expect(world.sent).toHaveLength(2);
  });

  test("an answered call leaves no timer behind", async () => {
    const { world, actor } = tiny();
    actor.apply(owe("b"));
    expect(world.timers.size).toBe(1);
    await world.last.reply(done("b"));
    expect(world.timers.size).toBe(0);
  });

  test("a success ends the back-off: the next failure is a first one", async () => {
    const { world, actor, pass } = tiny();
    actor.apply(owe("b"));
    await world.last.fail();
    pass(RETRY_FIRST_MS);
    await world.last.reply(done("b"));
    actor.apply(owe("b", "again"));
    await world.last.fail();
    expect(world.failures.map(({ tries }) => tries)).toEqual([1, 1]);
  });

  test("so does that nothing is owed any more", async () => {
    const { world, actor } = tiny();
    actor.apply(owe("b"));
    await world.last.fail();
    actor.apply(done("b"));
    actor.apply(owe("b", "other"));
    expect(world.sent).toHaveLength(2);
  });

  test("another text to the same destination waits as well: that is what is in trouble", async () => {
    const { world, actor } = tiny();
    actor.apply(owe("b", "one"));
    await world.last.fail();
    actor.apply(owe("b", "two"));
    expect(world.sent).toHaveLength(1);
  });

  test("other destinations do not", async () => {
    const { world, actor } = tiny();
    actor.apply(owe("b"));
    await world.last.fail();
    actor.apply(owe("c"));
    expect(world.last.message.to).toBe("c");
  });

  test("an order that its worker does not know is backed off, with a time limit as without", async () => {
    for (const more of [{}, { timeout: "1h" }]) {
      let now = Date.UTC(2026, 10, 21);
      let stored = loadedAllocation(null, false);
      let orders = 0;
      const failures: number[] = [];
      const actor = new Actor(allocationMachine, {
        now: () => now,
        load: () => stored,
        commit: (write) => write(),
        save: (state) => {
          stored = state;
        },
        wake: () => undefined,
        timer: () => () => undefined,
        failed: (_message, _error, tries) => failures.push(tries),
        isChecked: () => true,
        violated: (violations) => expect(violations).toEqual([]),
        send: async (message): Promise<AllocationEvent> => {
          now += 3;
          if (message.kind === "run")
            return {
              type: "run_answered",
              sent: message.body,
              answer: { kind: "placed", worker: "w1", epoch: 1 },
            };
          if (message.kind !== "order") throw new Error("it has none");
          orders += 1;
          if (orders > 20) throw new Error("a loop");
          return { type: "order_answered", sent: message.body, answer: { kind: "no_such" } };
        },
      });
      actor.apply(submit(more));
      actor.apply(place());
      for (let i = 0; i < 50; i += 1) await new Promise((resolve) => setImmediate(resolve));
      expect(orders).toBe(1);
      expect(failures).toEqual([1]);
    }
  });
});

describe("an alarm for whatever would be forgotten if this process died now (R8)", () => {
  test("for what nobody else repeats, REPEAT_AFTER_CRASH_MS after it was sent at the latest", () => {
    const { world, actor } = tiny("self");
    actor.apply(owe("b"));
    expect(world.wakes).toEqual([world.time + REPEAT_AFTER_CRASH_MS]);
  });

  test("N10: if the clock was set past that, while its timer runs, the alarm turns in no circles", () => {
    const { world, actor } = tiny();
    actor.apply(owe("b"));
    world.time += 2 * SEND_TIMEOUT_MS;
    actor.apply(nothing);
    expect(world.alarm).toBe(world.time + REPEAT_AFTER_CRASH_MS);
  });

  test("while it is under way the alarm is for the case that it hangs", () => {
    const { world, actor, pass } = tiny("self");
    actor.apply(owe("b"));
    const sentAt = world.time;
    pass(REPEAT_AFTER_CRASH_MS);
    expect(world.alarm).toBe(sentAt + SEND_TIMEOUT_MS);
  });

  test("for what the other side repeats there is none, until it has failed", async () => {
    const { world, actor } = tiny("peer");
    actor.apply(owe("b"));
    expect(world.wakes).toEqual([]);
    await world.last.fail();
    expect(world.wakes).toEqual([world.time + RETRY_FIRST_MS]);
  });

  test("none, when nothing is owed and the machine wants none", async () => {
    const { world, actor } = tiny();
    actor.apply({ type: "tick" });
    expect(world.wakes).toEqual([]);
  });

  test.each([
    ["when the machine wants it", 500, 500],
    ["when something is to be repeated, if that is earlier", 90_000, REPEAT_AFTER_CRASH_MS],
  ])("%s", (_what, wantedIn, armedIn) => {
    const { world, actor } = tiny();
    actor.apply({ type: "wake", at: world.time + wantedIn });
    actor.apply(owe("b"));
    expect(world.alarm).toBe(world.time + armedIn);
  });

  test("what should have happened by now does not turn in circles", () => {
    const { world, actor } = tiny();
    actor.apply({ type: "wake", at: world.time - 5 });
    expect(world.alarm).toBe(world.time + LOOK_AGAIN_MS);
    actor.apply({ type: "wake", at: world.time });
    expect(world.alarm).toBe(world.time + LOOK_AGAIN_MS);
  });

  test("after a crash `due` says the same again: nothing of what the shell remembers must survive", () => {
    const first = tiny();
    first.actor.apply(owe("b"));
    const second = tiny();
    second.world.stored = first.world.stored;
    second.actor.apply({ type: "tick" });
    expect(second.world.sent.map(({ message }) => message)).toEqual(
      first.world.sent.map(({ message }) => message),
    );
  });
});

describe("busy: a message of a kind is in flight", () => {
  test("from its sending until its answer is stored", async () => {
    const { world, actor } = tiny();
    expect(actor.busy("tell")).toBe(false);
    actor.apply(owe("b"));
    expect([actor.busy("tell"), actor.busy("other")]).toEqual([true, false]);
    await world.last.reply(done("b"));
    expect(actor.busy("tell")).toBe(false);
  });

  test("as long as one of them is, and those that they bring about", async () => {
    const { world, actor } = tiny();
    actor.apply(owe("b"));
    await world.last.reply(owe("c"));
    expect(actor.busy("tell")).toBe(true);
    await world.sent.find(({ message }) => message.to === "c")?.reply(done("c"));
    expect(actor.busy("tell")).toBe(false);
  });

  test("not while it waits for its next try", async () => {
    const { world, actor } = tiny();
    actor.apply(owe("b"));
    await world.last.fail();
    expect(actor.busy("tell")).toBe(false);
  });

  test.each(["reply", "fail"] as const)("whoever watches hears when that changes, by a %s", async (how) => {
    const { world, actor } = tiny();
    actor.apply(owe("b"));
    const seen: boolean[] = [];
    actor.watch(() => seen.push(actor.busy("tell")));
    await (how === "reply" ? world.last.reply(done("b")) : world.last.fail());
    expect(seen.at(-1)).toBe(false);
  });
});

describe("watch: told after every event, until it has had enough", () => {
  test("when the state is the new one already", () => {
    const { actor } = tiny();
    const seen: string[] = [];
    const stop = actor.watch(() => seen.push(actor.state.events.at(-1) ?? ""));
    actor.apply(owe("b"));
    actor.apply({ type: "tick" });
    stop();
    actor.apply(owe("c"));
    expect(seen).toEqual(["owe", "tick"]);
  });

  test("of a reply as well, and not of what was not stored", async () => {
    const { world, actor } = tiny();
    actor.apply(owe("b"));
    let times = 0;
    actor.watch(() => {
      times += 1;
    });
    world.crashes = true;
    expect(() => actor.apply({ type: "tick" })).toThrow();
    expect(times).toBe(0);
    world.crashes = false;
    await world.last.reply(done("b"));
    expect(times).toBeGreaterThan(0);
  });
});
