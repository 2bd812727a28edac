import { describe, expect, test } from "vitest";
import type { ProviderFailure } from "../../../src/core/provider-answers.ts";
import type { WorkerEvent } from "../../../src/core/worker/machine.ts";
import { WORKER_REASONS } from "../../../src/core/worker/read/reasons.ts";
import { statusOf, whyOf } from "../../../src/core/worker/read/status.ts";
import type { ExistingWorker } from "../../../src/core/worker/state.ts";
import type { NextCode } from "../../../src/schema/why.ts";
import { LEASE_MARGIN_MS } from "../../../src/shared/limits.ts";
import { lieOfWorker } from "../support/truth-of-workers.ts";
import {
  at,
  CONSISTENCY,
  created,
  enrolledOwn,
  holding,
  INSTANCE,
  intent,
  invitation,
  LEASE,
  MINUTE,
  nothing,
  REF,
  ready,
  readyOwn,
  report,
  T0,
} from "../support/worker.ts";

const SECOND = 1_000;
const asked = (more: Parameters<typeof intent>[0] = {}) =>
  at(nothing(), T0, { type: "create", body: intent(more) });
const booting = (more: Parameters<typeof intent>[0] = {}) => at(asked(more), T0, created);
const set = (behavior: "hold" | "drain"): WorkerEvent => ({ type: "behavior", behavior, by: "ann" });
const tick: WorkerEvent = { type: "tick" };
const kill: WorkerEvent = { type: "kill", reason: "enough", by: "ann" };
const failed = (failure: ProviderFailure): WorkerEvent => ({
  type: "create_answered",
  answer: { kind: "failed", failure },
});
const destroyed: WorkerEvent = { type: "destroy_answered", answer: { kind: "asked" } };
const listed = (beganAt: number, state = INSTANCE.state): WorkerEvent => {
  const sighting = {
    worker: "default-s-1",
    provider: intent().provider,
    beganAt,
    instance: { ...INSTANCE, state },
  };
  return { type: "sighting", body: { ...sighting, consistencyMs: CONSISTENCY } };
};
const settings = (more: Partial<ReturnType<typeof intent>["settings"]>) => ({
  settings: { ...intent().settings, ...more },
});
const lost: ProviderFailure = { class: "temporary", text: "nobody answered", unreached: true };
const forbidden = { class: "temporary", text: "the provider answered 403: no" } as const;
/** The machine of a worker that was adopted: nobody knew of it. */
const adopted = () => asked({ adopt: { id: "i-1", address: null } });

const inTurn = (state: ExistingWorker) =>
  at(state, T0, { type: "turn", body: { ...REF, version: state.record.version } });

/** What happens next, when, and until then whose word is waited for. */
type Says = [code: string, text: RegExp, next: NextCode, afterMs: number | null, waitsFor: string | null];

// What it promises for a time is proved by letting that time come (`lieOfWorker`).
describe("A6 why-silent, P3: each reason of a worker is the truth, and so is its next step", () => {
  const table: [string, ExistingWorker, Says, number?][] = [
    ["its machine is asked for", asked(), ["asked", /being created/, "give_up", 10 * MINUTE, "provider"]],
    [
      "its machine was refused, and no pause named",
      at(asked(), T0, failed(forbidden)),
      [
        "create_deferred",
        /has not confirmed that it made the machine \(temporary\).*403/,
        "give_up",
        10 * MINUTE,
        "pool",
      ],
    ],
    [
      "… and the provider wants to be asked later",
      at(asked(), T0, failed({ ...forbidden, retryAfterMs: 40 * SECOND })),
      ["create_deferred", /403/, "give_up", 10 * MINUTE, "pool"],
    ],
    [
      "… later than it may be asked",
      at(asked(), T0, failed({ ...forbidden, retryAfterMs: 60 * MINUTE })),
      ["create_deferred", /403/, "give_up", 10 * MINUTE, "pool"],
    ],
    [
      "… and its turn has come",
      inTurn(at(asked(), T0, failed(forbidden))),
      ["create_deferred", /403/, "give_up", 10 * MINUTE, "provider"],
    ],
    ["its machine boots", booting(), ["booting", /booting/, "give_up", 10 * MINUTE, "host"]],
    ["… and is held", at(booting(), T0, set("hold")), ["held", /ann/, "stay", null, "operator"]],
    [
      "nobody has enrolled",
      at(nothing(), T0, { type: "create", body: invitation() }),
      ["code_unused", /waits for a machine to enroll/, "give_up", 60 * MINUTE, "host"],
    ],
    ["its host has enrolled", enrolledOwn(), ["enrolled", /./, "boot", null, "host"]],
    ["it is idle", ready(), ["idle", /ready/, "propose_stop", MINUTE, "pool"]],
    [
      "… and its pool has not agreed yet",
      at(ready(), T0 + MINUTE, report(2), tick),
      ["idle", /ready/, "confirm", null, "pool"],
      T0 + MINUTE,
    ],
    [
      "… and silent for longer than its pool allows",
      at(ready(T0, settings({ probeMs: 3 * SECOND, idleMs: 10 * MINUTE })), T0 + 5 * SECOND, tick),
      ["idle", /ready/, "give_up", 5 * SECOND + LEASE_MARGIN_MS, "host"],
      T0 + 5 * SECOND,
    ],
    ["a self-hosted machine is idle", readyOwn(), ["idle", /ready/, "stay", null, "operator"]],
    ["it is held", at(ready(), T0, set("hold")), ["held", /ann/, "stay", null, "operator"]],
    ["runs are on it", holding(["a"]), ["running", /ready/, "give_up", LEASE + LEASE_MARGIN_MS, "host"]],
    [
      "… of a self-hosted machine",
      readyOwn(["a"]),
      ["running", /ready/, "lose_runs", LEASE + LEASE_MARGIN_MS, "host"],
    ],
    [
      "… and it drains",
      at(holding(["a"]), T0, set("drain")),
      ["draining", /ann/, "give_up", LEASE + LEASE_MARGIN_MS, "host"],
    ],
    [
      "its host is silent",
      at(ready(), T0 + 9 * MINUTE, tick),
      ["silent", /its host is silent/, "give_up", 10 * MINUTE + LEASE_MARGIN_MS, "host"],
      T0 + 9 * MINUTE,
    ],
    [
      "… that of a self-hosted machine",
      at(readyOwn(), T0 + MINUTE, tick),
      ["silent", /its host is silent/, "stay", null, "host"],
      T0 + MINUTE,
    ],
    [
      "nobody knows of it",
      adopted(),
      ["not_ours", /no worker owned/, "give_up", LEASE + LEASE_MARGIN_MS, "operator"],
    ],
    ["… and it is held", at(adopted(), T0, set("hold")), ["held", /ann/, "stay", null, "operator"]],
    [
      "it is to be destroyed",
      at(ready(), T0, kill),
      ["destroying", /killed by ann/, "destroy", null, "provider"],
    ],
    [
      "… when its pool gives it a turn",
      at(booting(), T0 + 10 * MINUTE, tick),
      ["destroying", /not become ready/, "destroy", null, "pool"],
      T0 + 10 * MINUTE,
    ],
    [
      "… and the provider has taken that",
      at(ready(), T0, kill, destroyed),
      ["destroying", /killed by ann/, "destroy", 10 * SECOND, "provider"],
    ],
    [
      "… and no machine was seen yet",
      at(asked(), T0, kill),
      ["destroying", /killed by ann/, "confirm", null, "provider"],
    ],
    [
      "a self-hosted machine is let go",
      at(readyOwn(), T0, kill),
      ["releasing", /killed by ann/, "give_up", LEASE + LEASE_MARGIN_MS, "host"],
    ],
    [
      "… and it had no lease: the margin begins when it is let go",
      at(enrolledOwn(), T0, set("drain")),
      ["releasing", /drain by ann/, "give_up", LEASE_MARGIN_MS, "host"],
    ],
    [
      "it is gone",
      at(ready(), T0, kill, destroyed, listed(T0, "terminated")),
      ["gone", /killed by ann: enough/, "nothing", null, null],
    ],
  ];

  test.each(table)("%s", (_what, state, [code, text, next, afterMs, waitsFor], now = T0) => {
    const why = whyOf(state, now);
    expect(why.reason.code).toBe(code);
    expect(why.reason.text).toMatch(text);
    const when = afterMs === null ? null : new Date(T0 + afterMs).toISOString();
    expect(why.next).toMatchObject({ code: next, at: when, waitsFor });
    expect(lieOfWorker(state, (one) => at(one, now), now)).toBeUndefined();
  });

  test("no reason is left out", () => {
    expect([...new Set(table.map(([, , [code]]) => code))].sort()).toEqual([...WORKER_REASONS].sort());
  });
});

test("A6 story2-why-says-how-often: an ignored destroy: how often, since when, when next", () => {
  const down = at(ready(), T0, kill, destroyed);
  const ignored = T0 + 10 * SECOND;
  const again = at(down, ignored, listed(ignored), destroyed);
  const why = whyOf(again, ignored);
  expect(why.reason).toMatchObject({ destroyTries: 2, destroySince: new Date(T0).toISOString() });
  expect(why.reason.text).toContain(`asked 2 times since ${new Date(T0).toISOString()} to destroy it`);
  expect(why.next).toMatchObject({ code: "destroy", at: new Date(ignored + 10 * SECOND).toISOString() });
  const due = at(again, ignored + 10 * SECOND, listed(ignored + 10 * SECOND));
  expect(due.record.destroyAskedAt).toBeNull();
});

describe("P15: what a machine died of can be read", () => {
  const probe = { boot: { ok: false, output: "", exitCode: 1 } };
  const host: WorkerEvent = { type: "enroll", secret: "whsec_1", bootId: "boot-1" };
  const trouble = "its boot probe `systemctl is-system-running` failed with exit code 1, and wrote nothing";
  const probed = (more: object = {}) =>
    at(booting(), T0, host, report(1, { boot: { ...probe.boot, ...more } }));
  const over = T0 + 10 * MINUTE;

  test("a boot probe that fails: its command, its exit code and its output", () => {
    const state = probed();
    expect(state.record.events.at(-1)).toMatchObject({ type: "Boot Probe Failed", message: trouble });
    expect(whyOf(state, T0).reason.text).toBe(`booting: ${trouble}`);
    const dead = at(state, over, tick);
    expect(statusOf(dead, over)).toMatchObject({ reason: `it did not become ready in time: ${trouble}` });
    expect(probed({ output: "no disk\n" }).record.events.at(-1)?.message).toMatch(/exit code 1: no disk$/);
    expect(probed({ exitCode: null }).record.events.at(-1)?.message).toContain("failed (it was killed)");
    const older = at(booting(), T0, host, report(1, { boot: { ok: false, output: "x" } }));
    expect(older.record.events.at(-1)?.message).toBe(
      "its boot probe `systemctl is-system-running` failed: x",
    );
  });

  test.each<[string, ExistingWorker, string]>([
    ["nothing was heard of", booting(), "its host has not called yet"],
    ["has enrolled", at(booting(), T0, host), "its host has enrolled, and its boot probe has not ended"],
  ])("a machine that %s in time", (_what, state, text) => {
    expect(at(state, over, tick).record.reason).toBe(`it did not become ready in time: ${text}`);
  });

  test("a create that fails is an event, once for each reason", () => {
    const other = { ...forbidden, text: "the provider answered 500: oh" };
    const state = at(asked(), T0, failed(forbidden), failed(forbidden), failed(other));
    const events = state.record.events.filter(({ type }) => type === "Create Failed");
    expect(events.map(({ message }) => message)).toEqual([
      "the provider has not confirmed that it made the machine (temporary): the provider answered 403: no",
      "the provider has not confirmed that it made the machine (temporary): the provider answered 500: oh",
    ]);
    expect(whyOf(state, T0).reason).toMatchObject({
      createTries: 3,
      text: expect.stringMatching(/asked 3 times/),
    });
  });

  test.each<[string, ProviderFailure, string, string]>([
    ["said no", { ...forbidden, refused: true }, "did not make the machine", "refused"],
    ["said no by its class", { class: "quota", text: "no" }, "did not make the machine", "refused"],
    ["cannot be found", { ...lost, refused: true }, "did not make the machine", "unconfirmed"],
    ["did not answer", lost, "has not confirmed that it made the machine", "unconfirmed"],
    ["gave no clear answer", forbidden, "has not confirmed that it made the machine", "unconfirmed"],
  ])("P3: a provider that %s is not told to have said anything else", (_what, said, text, machine) => {
    const state = at(asked(), T0, failed(said));
    expect(state.record.events.at(-1)?.message).toContain(`the provider ${text} (${said.class})`);
    expect(statusOf({ ...state, record: { ...state.record, phase: "booting" } }, T0).machine).toBe(machine);
  });

  test("P3: the full stop of a provider does not stand before our own words", () => {
    const said = { ...forbidden, text: "The account is locked." };
    const state = at(asked(), T0, failed(said), failed(said));
    expect(whyOf(state, T0).reason.text).toMatch(/The account is locked; the provider was asked 2 times$/);
  });

  test("P9: a kill without a reason says by whom, and ends there", () => {
    const killed = at(ready(), T0, { ...kill, reason: "" });
    expect(killed.record.reason).toBe("killed by ann");
  });

  test.each<[string, ExistingWorker, string]>([
    ["was killed", at(ready(), T0, kill), "killed by ann: enough"],
    ["never became ready", at(probed(), over, tick), `it did not become ready in time: ${trouble}`],
    ["ended by itself", ready(), "its machine ended by itself: the provider says that it is terminated"],
  ])("a worker that is gone says why: it %s", (_what, state, text) => {
    const gone = at(state, over, listed(over, "terminated"));
    expect(whyOf(gone, over)).toMatchObject({ state: "gone", reason: { text } });
    const proof = "the provider says that it is terminated";
    expect(gone.record.events.at(-1)).toMatchObject({ type: "Gone", message: proof });
  });
});
