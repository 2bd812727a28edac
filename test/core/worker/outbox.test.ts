import { describe, expect, test } from "vitest";
import { MAX_OWED, newEntries } from "../../../src/core/audit/outbox.ts";
import type { WorkerUpsertAnswer } from "../../../src/core/messages.ts";
import { type WorkerEvent, workerMachine } from "../../../src/core/worker/machine.ts";
import type { ExistingWorker } from "../../../src/core/worker/state.ts";
import { at, holding, REF, reloaded, T0 } from "../support/worker.ts";

const handed = (attempt: string, names = ["token"]): WorkerEvent => {
  return { type: "secrets_handed", names, run: "a", attempt };
};
/** What is owed to the pool. */
const upsert = (state: ExistingWorker) => {
  const [message] = workerMachine.due(state, T0).filter((one) => one.kind === "worker");
  return message;
};
const answered = (state: ExistingWorker, answer: WorkerUpsertAnswer): ExistingWorker => {
  const sent = upsert(state)?.body;
  if (sent === undefined) throw new Error("nothing is owed to the pool");
  return at(state, T0, { type: "worker_answered", sent, answer });
};
const ok: WorkerUpsertAnswer = { kind: "ok", consent: false };

describe("the entry of secrets that a host gets (audit.md#outbox)", () => {
  test("is owed to the pool at once, by this object itself, until the pool has it", () => {
    const before = answered(holding(["a"]), ok);
    expect(upsert(before)).toBeUndefined();
    const state = at(before, T0, handed("a/main/1.1"), handed("a/main/1.2", ["b", "c"]));
    const message = upsert(reloaded(state));
    expect(message?.repeatedBy).toBe("self");
    expect(message?.body.audit).toEqual([
      {
        n: 1,
        at: T0,
        by: "host:default-s-1",
        action: "secret.hand",
        about: "a",
        reason: "token to default-s-1, for a/main/1.1",
      },
      {
        n: 2,
        at: T0,
        by: "host:default-s-1",
        action: "secret.hand",
        about: "a",
        reason: "b, c to default-s-1, for a/main/1.2",
      },
    ]);
    const known = answered(state, ok);
    expect(known.record.audit).toEqual({ last: 2, owed: [] });
    expect(upsert(known)).toBeUndefined();
  });

  test("concerns the run, and not the worker", () => {
    const { audit } = upsert(at(holding(["a"]), T0, handed("a/main/1.1")))?.body ?? {};
    const target = { kind: "worker", id: "default-s-1" } as const;
    const about = { target, pool: "default", run: null, project: null };
    const { entries, upTo } = newEntries(audit, 0, about);
    expect(entries).toMatchObject([
      { target: { kind: "run", id: "a" }, run: "a", pool: "default", project: "default" },
    ]);
    expect(entries[0]).not.toHaveProperty("about");
    expect(upTo).toBe(1);
  });

  test("has the names of as many secrets as a task can have", () => {
    const names = Array.from({ length: 32 }, (_, n) => `${"n".repeat(61)}${n + 10}`);
    const { audit } = upsert(at(holding(["a"]), T0, handed("a/main/1.1", names)))?.body ?? {};
    for (const name of names) expect(audit?.[0]?.reason).toContain(name);
  });

  test("is dropped if the pool knows nothing of this worker, which then needs no alarm for it", () => {
    const state = at(holding(["a"]), T0, handed("a/main/1.1"));
    const unknown = answered(state, { kind: "no_such" });
    expect(unknown.record.audit?.owed).toEqual([]);
    expect(upsert(unknown)).toBeUndefined();
    expect(upsert(at(unknown, T0, { type: "poke_worker", body: REF }))).toBeDefined();
  });

  test("pushes out none of an operator, however often a host asks; the log counts what is missing", () => {
    const kill: WorkerEvent = { type: "kill", reason: "", by: "ann" };
    const often = Array.from({ length: MAX_OWED + 2 }, (_, n) => handed(`a/main/1.${n}`));
    const { audit } = upsert(at(holding(["a"]), T0, handed("a/main/0"), kill, ...often))?.body ?? {};
    expect(audit).toHaveLength(MAX_OWED);
    const about = {
      target: { kind: "worker", id: "default-s-1" },
      pool: "default",
      run: null,
      project: null,
    } as const;
    const { entries, upTo } = newEntries(audit, 0, about);
    expect(entries.slice(0, 2)).toMatchObject([
      {
        action: "log.gap",
        by: "drover",
        target: { kind: "log", id: "default" },
        pool: "default",
        reason: "4 entries were dropped by worker default-s-1, where too many waited",
      },
      { action: "worker.kill" },
    ]);
    expect(upTo).toBe(MAX_OWED + 4);
    expect(newEntries(audit, upTo, about).entries).toEqual([]);
    expect(newEntries(audit?.slice(-1), upTo - 1, about).entries).toHaveLength(1);
  });

  test("is owed by a worker whose end was forced, too", () => {
    const force: WorkerEvent = { type: "kill", reason: "", by: "ann", force: true };
    const forced = at(holding(["a"]), T0, handed("a/main/1.1"), force);
    expect(upsert(forced)?.body.audit?.map(({ action }) => action)).toEqual(["secret.hand", "worker.kill"]);
    expect(answered(forced, ok).record.audit?.owed).toEqual([]);
  });
});
