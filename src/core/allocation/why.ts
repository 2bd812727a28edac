import type { Why } from "../../schema/run.ts";
import { durationMs } from "../duration.ts";
import type { Instant } from "../machine.ts";
import { lastByteBy } from "./logs.ts";
import { deadlineOf } from "./orders.ts";
import { givenUpKills } from "./outcome.ts";
import { type AllocationRecord, type AllocationState, openPlacement } from "./state.ts";
import { statusOf } from "./status.ts";
import { stateOf } from "./summary.ts";

/**
 * Why a run is where it is, and what happens next (invariant 5). `other` is what its pool says of a run that
 * waits for a place, or its worker of one that has one.
 */
export function whyOf(
  state: AllocationState & { record: AllocationRecord },
  other: Why | null,
  worker: string | null,
): Why {
  const { record } = state;
  const { description } = statusOf(state);
  const chain: Why["chain"] = [{ what: `run ${record.id}`, state: stateOf(record), text: description }];
  if (record.ended) {
    const code = record.outcome?.failure?.code ?? "ended";
    return {
      state: stateOf(record),
      reason: { code, text: description },
      next: { action: "nothing: it has ended", at: null },
      chain,
    };
  }
  if (other !== null) {
    const what = worker === null ? `pool ${record.spec.pool}` : `worker ${worker}`;
    chain.push({ what, state: other.state, text: other.reason.text }, ...other.chain);
  }
  const [stuck] = givenUpKills(record, openPlacement(state)?.epoch ?? 0);
  if (stuck !== undefined) {
    const text = `${stuck.id} cannot be killed, its host goes on trying, and its worker drains`;
    const next = { action: "end it, when it or its machine is gone", at: null };
    return { state: stateOf(record), reason: { code: "unkillable", text }, next, chain };
  }
  if (record.wish !== null) {
    const { killSignal, killTimeout } = record.spec;
    const begun = openPlacement(state) !== null;
    const stop = begun ? `; its command gets ${killSignal}, and is killed after ${killTimeout}` : "";
    const text = `it is being stopped (${record.wish.reason})${stop}`;
    return {
      state: stateOf(record),
      reason: { code: "stopping", text },
      next: { action: `wait for the ${begun ? "host" : "pool"} to confirm`, at: null },
      chain,
    };
  }
  if (openPlacement(state) === null) {
    const reason = other?.reason ?? { code: "waiting", text: "it waits for its pool" };
    return { state: stateOf(record), reason, next: other?.next ?? queueEnd(record), chain };
  }
  if (record.outcome !== null) {
    const reason = { code: "last_bytes", text: "it has ended; the last bytes of its logs are on the way" };
    const next = { action: "end without them", at: iso(lastByteBy(record, record.outcome.at)) };
    return { state: stateOf(record), reason, next, chain };
  }
  const started = stateOf(record) === "running";
  const code = started ? "running" : "starting";
  const text = started ? "its command is running" : `worker ${worker} has been ordered to start it`;
  return { state: stateOf(record), reason: { code, text }, next: timeEnd(record), chain };
}

function queueEnd(record: AllocationRecord): Why["next"] {
  if (record.spec.queueTimeout === undefined) return { action: "place it", at: null };
  return { action: "give up", at: iso(record.waitingSince + durationMs(record.spec.queueTimeout)) };
}

function timeEnd(record: AllocationRecord): Why["next"] {
  const deadline = deadlineOf(record, null);
  if (deadline === undefined) return { action: "wait for it to end", at: null };
  return { action: "stop it: its time is over", at: iso(deadline) };
}

function iso(at: Instant): string {
  return new Date(at).toISOString();
}
