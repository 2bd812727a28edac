// What does a pool tell of its past (api.md#past-of-a-pool)?
import { GONE_INSTANTS, GONE_LISTED_MS, pageOfGone } from "../../core/pool/past/gone-workers.ts";
import type { Span } from "../../core/pool/past/history.ts";
import type { HourRow } from "../../core/pool/past/hour-record.ts";
import { HOUR_MS, HOURS_KEPT } from "../../core/pool/past/hours.ts";
import { poolSamples, poolTallies } from "../../core/pool/past/hours-read.ts";
import type { RunRow, WorkerRow } from "../../core/pool/record.ts";
import type { Configured } from "../../core/pool/state.ts";
import type { GoneWorkers } from "../../schema/pool/past.ts";
import type { Instant } from "../../shared/machine.ts";
import { TOP } from "../reads/nameless.ts";
import type { Past, PastRequest } from "../rpc.ts";
import type { SqlRowDisk } from "../store.ts";
import { historyOf } from "./history.ts";

/** The most hours whose samples are in one answer: sixty samples each. */
export const MAX_SAMPLED_HOURS = 24;

/** The most workers that are gone in one answer. */
const MAX_GONE = 1_000;

/** The tables of a pool. */
export interface PoolDisks {
  runs: SqlRowDisk<RunRow>;
  workers: SqlRowDisk<WorkerRow>;
  hours: SqlRowDisk<HourRow>;
}

type Readers = { [Kind in keyof Past]: (request: PastRequest) => Past[Kind] };

/** How each kind of a pool's past is read. */
export function pastOf(state: Configured, disks: PoolDisks, now: Instant): Readers {
  const { runs, workers, hours } = disks;
  const found = ({ since, until }: PastRequest, limit: number) => {
    // An hour that began before the span may have samples in it. What is older than 30 days is not shown.
    const from = Math.max(since - HOUR_MS + 1, now - HOURS_KEPT * HOUR_MS);
    const rows = hours.readWithin(["$.at"], { since: from, until }, TOP, limit + 1);
    return { stored: rows.map(({ row }) => row), limit };
  };
  return {
    history: (request) => historyOf(state, runs, workers, now, request),
    samples: (request) => poolSamples(state, request, found(request, MAX_SAMPLED_HOURS)),
    tallies: (request) => poolTallies(state, request, found(request, HOURS_KEPT)),
    gone: (request) => goneWorkersOf(state, workers, request, now),
  };
}

/** The workers that were gone within a span, the latest first (api.md#past-of-a-pool). */
function goneWorkersOf(
  state: Configured,
  workers: SqlRowDisk<WorkerRow>,
  { since, until, limit = MAX_GONE }: PastRequest,
  now: Instant,
): GoneWorkers {
  const read = (span: Span, most: number) => workers.readEndedWithin(GONE_INSTANTS, span, most);
  const found = read({ since: Math.max(since, now - GONE_LISTED_MS), until }, limit + 1);
  return pageOfGone(state, found, limit, (at) => read({ since: at, until: at + 1 }, MAX_GONE));
}
