import { expect, test } from "vitest";
import type { RefusalKind } from "../../../src/core/worker/host/refusals.ts";
import type { WorkerEvent } from "../../../src/core/worker/machine.ts";
import { NOTE_REFUSAL_MS } from "../../../src/shared/limits.ts";
import { at, readyOwn, reloaded, T0 } from "../support/worker.ts";

const knock = (kind: RefusalKind): WorkerEvent => ({ type: "refused_host", kind, reason: `no: ${kind}` });

const KINDS: RefusalKind[] = [
  "bad_signature",
  "code_used",
  "enrollment_over",
  "stale_incarnation",
  "cloned",
  "repeated_report",
];

test("each kind of refusal is seen in the worker's events, and none hides another", () => {
  const { events } = at(readyOwn(), T0, ...KINDS.map(knock)).record;
  expect(events.slice(-KINDS.length).map(({ type, code }) => [type, code])).toEqual(
    KINDS.map((kind) => [kind === "repeated_report" ? "Repeated Report" : "Refused", kind]),
  );
});

test.each(KINDS)("%s is noted at most once a minute, also by an object that was evicted", (kind) => {
  const first = at(readyOwn(), T0, knock(kind));
  expect(at(reloaded(first), T0 + NOTE_REFUSAL_MS - 1, knock(kind)).record.events).toEqual(
    first.record.events,
  );
  const second = at(reloaded(first), T0 + NOTE_REFUSAL_MS, knock(kind)).record.events;
  expect(second.filter(({ code }) => code === kind)).toHaveLength(2);
});
