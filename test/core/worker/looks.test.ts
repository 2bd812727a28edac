import { describe, expect, test } from "vitest";
import type { FindAnswer } from "../../../src/core/provider-answers.ts";
import type { WorkerEvent } from "../../../src/core/worker/machine.ts";
import { type ExistingWorker, livePlacements } from "../../../src/core/worker/state.ts";
import type { ProviderConfig } from "../../../src/schema/pool/provider-config.ts";
import { LEASE_MARGIN_MS } from "../../../src/shared/limits.ts";
import {
  at,
  BOOTED,
  CONSISTENCY,
  INSTANCE,
  intent,
  LEASE,
  nothing,
  order,
  owed,
  ready,
  report,
  T0,
} from "../support/worker.ts";

// A provider that can be asked for one machine is asked, before the machine is believed gone
// (clouds.md#looking-for-a-machine).

const provider: ProviderConfig = {
  kind: "hetzner",
  credentials: { binding: "CLOUD_HETZNER" },
  sshKeys: [],
  ipv4: true,
  networks: [],
  firewalls: [],
};
const settings = { ...intent().settings, probeMs: 10 * LEASE };
const living = ready(T0, { provider, settings });
const kill: WorkerEvent = { type: "kill", reason: "", by: "ann" };
const destroyed = (answer: "asked" | "refused"): WorkerEvent => ({
  type: "destroy_answered",
  answer:
    answer === "asked"
      ? { kind: "asked" }
      : { kind: "failed", failure: { class: "auth", text: "not now", refused: true } },
});

function omits(state: ExistingWorker, beganAt: number, missingSince: number): ExistingWorker {
  const body = { worker: "default-s-1", provider, beganAt, missingSince, consistencyMs: CONSISTENCY };
  return at(state, beganAt, { type: "sighting", body });
}

/** Two listings omit it: what the worker asks for then. */
function omitted(state: ExistingWorker, first: number): ExistingWorker {
  return omits(omits(state, first, first), first + CONSISTENCY, first);
}

/** The pool gives the worker its turn. */
function inTurn(state: ExistingWorker): ExistingWorker {
  const { version } = state.record;
  return at(state, LATER + CONSISTENCY, { type: "turn", body: { worker: "default-s-1", version } });
}

const LATER = T0 + LEASE + LEASE_MARGIN_MS;
const missing = omitted(living, LATER);
const found = (state: ExistingWorker, answer: FindAnswer) =>
  at(state, LATER + 2 * CONSISTENCY, { type: "find_answered", answer });

describe("a machine that two listings omit", () => {
  test("is looked for, and does not count as gone yet", () => {
    expect([missing.record.phase, missing.record.looks]).toEqual(["ready", true]);
    expect(owed(missing, LATER + CONSISTENCY, "find")).toEqual([]);
    expect(owed(missing, LATER + CONSISTENCY, "worker")).toMatchObject([{ waits: "find" }]);
    expect(owed(inTurn(missing), LATER + CONSISTENCY, "find")).toMatchObject([{ instance: INSTANCE.id }]);
  });

  test("is not looked for twice at once: listings that omit it meanwhile take no second turn", () => {
    const looking = omits(inTurn(missing), LATER + 3 * CONSISTENCY, LATER);
    expect(owed(looking, LATER + 3 * CONSISTENCY, "find")).toHaveLength(1);
    const { record } = found(looking, { kind: "unsure", text: "no answer" });
    expect([record.looks, record.waits]).toEqual([false, false]);
  });

  test("is destroyed first, if somebody kills it", () => {
    const killed = at(missing, LATER + CONSISTENCY, kill);
    expect(owed(killed, LATER + CONSISTENCY, "destroy")).toHaveLength(1);
    expect(omitted(killed, LATER + 2 * CONSISTENCY).record.looks).toBe(true);
  });

  test("and that is to be destroyed waits for a turn again, if it is found", () => {
    const drained = at(living, LATER - 1, { type: "behavior", behavior: "drain", by: "ann" });
    const { record } = found(inTurn(omitted(drained, LATER)), { kind: "found", instance: INSTANCE });
    expect([record.phase, record.looks, record.waits]).toEqual(["shutdown", false, true]);
  });

  test.each<[string, FindAnswer, string]>([
    ["none: it is gone", { kind: "none" }, "gone"],
    ["unsure: nothing changes", { kind: "unsure", text: "no answer" }, "ready"],
    ["found: it lives", { kind: "found", instance: INSTANCE }, "ready"],
    ["found, and ended", { kind: "found", instance: { ...INSTANCE, state: "terminated" } }, "gone"],
  ])("%s", (_what, answer, phase) => {
    const { record } = found(missing, answer);
    expect([record.phase, record.looks]).toEqual([phase, false]);
  });

  test("is looked for again, if the answer was unsure and the next listing omits it", () => {
    const unsure = found(missing, { kind: "unsure", text: "no answer" });
    expect(omits(unsure, LATER + 3 * CONSISTENCY, LATER).record.looks).toBe(true);
  });

  test("that was found must be omitted twice again", () => {
    const again = found(missing, { kind: "found", instance: INSTANCE });
    expect(omits(again, LATER + 3 * CONSISTENCY, LATER + 3 * CONSISTENCY).record.looks).toBe(false);
  });

  test("while another machine was asked for: the answer means nothing", () => {
    const answer: FindAnswer = {
      kind: "found",
      instance: { ...INSTANCE, id: "i-twin", state: "terminated" },
    };
    expect(found(missing, answer).record.phase).toBe("ready");
  });
});

describe("while the host's lease lives", () => {
  const soon = T0 + 10 * CONSISTENCY;

  test("a machine that nobody has ended is not looked for", () => {
    expect(omitted(living, soon).record.looks).toBe(false);
  });

  test("a machine is looked for once its provider has taken the destroy, and none is proof", () => {
    const ending = at(living, T0, kill, destroyed("asked"));
    const looks = omitted(ending, soon);
    expect(looks.record.looks).toBe(true);
    const none: WorkerEvent = { type: "find_answered", answer: { kind: "none" } };
    expect(at(looks, soon + 2 * CONSISTENCY, none).record.phase).toBe("gone");
  });

  test("case 37: a machine whose destroy was refused is not, and its worker stays until it is gone", () => {
    const refused = at(living, T0, kill, destroyed("refused"));
    expect(omitted(refused, soon).record.looks).toBe(false);
    expect(omitted(refused, soon).record.phase).toBe("shutdown");
    expect(omitted(refused, LATER).record.looks).toBe(true);
  });
});

// clouds.md#free-names
describe("where the name of an ended machine is free again", () => {
  const asked = at(nothing(), T0, { type: "create", body: intent({ provider, settings }) });
  const failure = { class: "temporary" as const, text: "connection reset" };
  const lost = at(asked, T0, { type: "create_answered", answer: { kind: "failed", failure } });
  const shows = (state: ExistingWorker, beganAt: number, listed: "running" | "terminated") => {
    const instance = { ...INSTANCE, state: listed };
    const body = { worker: "default-s-1", provider, beganAt, instance, consistencyMs: CONSISTENCY };
    return at(state, beganAt, { type: "sighting", body });
  };

  test("its end is not that of a worker whose create may still take effect", () => {
    const ended = shows(lost, T0 + 1, "terminated");
    expect(ended.record).toMatchObject({ phase: "shutdown", instance: null });
    const another = shows(ended, T0 + 2, "running");
    expect(another.record).toMatchObject({ phase: "shutdown", instance: { id: INSTANCE.id } });
    expect(owed(another, T0 + 2, "create")).toEqual([]);
  });

  describe("if a host has joined, although no answer says which machine is its own", () => {
    const enrolled: WorkerEvent = { type: "enroll", secret: "s", bootId: "b" };
    const busy = at(lost, T0 + 5, enrolled, report(1, BOOTED), order("a"), { type: "orders_sent" });
    const runs = (state: ExistingWorker) => livePlacements(state).map(({ run }) => run);

    test("its machine is the one that has ended, and its runs are lost before the worker ends", () => {
      const ended = shows(busy, T0 + 6, "terminated");
      expect([runs(busy), runs(ended)]).toEqual([["a"], []]);
      expect(ended.record).toMatchObject({ phase: "shutdown", instance: null });
    });

    test("a listing from before it joined is about another machine, and changes nothing", () => {
      const same = shows(busy, T0 + 4, "terminated");
      expect([runs(same), same.record.phase]).toEqual([["a"], busy.record.phase]);
    });
  });

  test("a listing from after that time ends the worker", () => {
    const ended = shows(lost, T0 + 1, "terminated");
    const later = (ended.record.calledAt ?? 0) + CONSISTENCY;
    expect(shows(ended, later, "terminated").record.phase).toBe("gone");
  });

  test("its end is that of a worker that knows it", () => {
    expect(shows(living, T0 + 1, "terminated").record.phase).toBe("gone");
  });
});
