// What does a reader see of the tries of a run (retry.md#status)?
import type { AnyRun } from "../../../schema/run/run.ts";
import { iso, isoOrNull } from "../../../shared/time/instant.ts";
import { rounded } from "../../run/money.ts";
import { type AllocationRecord, type Existing, openPlacement } from "../state.ts";
import { needsInTry } from "./needs.ts";
import { parkedOf } from "./parked.ts";

type Tries = NonNullable<AnyRun["retries"]>;

/** The tries of a run, whether it is parked, and which run repeats it. */
export function retryFields(state: Existing): Pick<AnyRun, "retries" | "parked" | "redriven"> {
  const { record } = state;
  const { spec, redriven } = record;
  if (spec.retry === undefined) return {};
  const parked = parkedOf(record);
  return {
    retries: triesOf(state, spec.retry.on.length === 0 ? 0 : spec.retry.max),
    ...(parked === undefined ? {} : { parked: { ...parked, since: iso(parked.since) } }),
    ...(redriven === undefined ? {} : { redriven: { ...redriven, at: iso(redriven.at) } }),
  };
}

function triesOf(state: Existing, max: number): Tries {
  const { record } = state;
  const failed = record.retries ?? [];
  const items = failed.map(({ cause, text, epoch, worker, at, rate }, i): Tries["items"][number] => ({
    try: i + 1,
    cause,
    text,
    epoch,
    worker,
    finishedAt: iso(at),
    ...asked(record, i + 1),
    perHour: rate === undefined ? null : rounded(rate),
  }));
  const present = failed.length + 1;
  const waits = record.placeAt !== undefined && record.stopRequest === null && !record.ended;
  return {
    try: present,
    of: max + 1,
    nextAt: waits ? isoOrNull(record.placeAt ?? null) : null,
    items: [...items, latest(state, present)],
  };
}

/** The present try, the one that comes next, or the last one. */
function latest(state: Existing, n: number): Tries["items"][number] {
  const { record, memo } = state;
  const since = record.retries?.at(-1)?.epoch ?? 0;
  const own = openPlacement(state) ?? record.placements.at(-1);
  const placement = own !== undefined && own.epoch > since && own.outcome !== "refused" ? own : undefined;
  const rate = placement === undefined ? memo.offeredRate : placement.rate;
  return {
    try: n,
    cause: null,
    text: "",
    epoch: placement?.epoch ?? null,
    worker: placement?.worker ?? null,
    finishedAt: isoOrNull(record.ended ? (record.outcome?.at ?? null) : null),
    ...asked(record, n),
    perHour: rate === undefined ? null : rounded(rate),
  };
}

function asked(record: AllocationRecord, n: number): { memoryBytes: number; onDemand: boolean } {
  const { resources, asks } = needsInTry(record, n);
  return { memoryBytes: resources.memoryBytes, onDemand: asks?.spot === "never" };
}
