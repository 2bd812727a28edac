// Which invariants must every step of a pool keep?
import type { Invariant } from "../../shared/machine.ts";
import { isTerminal } from "../../shared/run-state.ts";
import { grows, ofRecord, ofRows } from "../invariants.ts";
import { endsWithArray } from "./arrays/array-ends.ts";
import { holdsSlot } from "./concurrency/slots.ts";
import { isOpenTo, SEVERAL_PROJECTS } from "./projects.ts";
import { isKept, isOpen, type PoolRecord, providedWorkers, runKey } from "./record.ts";
import { runToOutlive } from "./rows/replaced.ts";
import type { PoolState } from "./state.ts";

const ofPool = ofRecord<PoolRecord>;
const runs = (state: PoolState) => state.runs;
const workers = (state: PoolState) => state.workers;

/** The invariants of a pool, for `check` (shell.md#assertions). */
export const poolInvariants: readonly Invariant<PoolState>[] = [
  ofPool("rules.md#r1", grows("revision")),
  ofPool("rules.md#invariant-3", grows("nextWorker")),
  ofPool("pool.md#metrics", ({ tally: before }, { tally: after }) =>
    before === after
      ? undefined
      : (grows("upTo")(before, after) ??
        grows(...Object.keys(before?.counts ?? {}))(before?.counts, after?.counts ?? {})),
  ),
  ofRows("webhooks.md#following", runs, (before, { endNumber }) =>
    before?.endNumber !== undefined && endNumber !== before.endNumber
      ? `it was end ${before.endNumber} of the pool, and is end ${endNumber}`
      : undefined,
  ),
  ofRows("rules.md#r1", runs, grows("version")),
  ofRows("rules.md#r2", runs, grows("opened", "ended")),
  ofRows("rules.md#r2", runs, (_before, row) =>
    isOpen(row) && (row.opened !== row.ended + 1 || row.worker === null)
      ? `epoch ${row.opened} is open on worker ${row.worker}, but ${row.ended} is the last that ended`
      : undefined,
  ),
  ofRows("rules.md#invariant-9", runs, (before, { state }) =>
    before !== undefined && isTerminal(before.state) && state !== before.state
      ? `it was ${before.state}, and is ${state}`
      : undefined,
  ),
  ofRows("rules.md#invariant-6", runs, (_before, row, { memo }) => {
    const isPlaced = memo.index.placed.get(row.worker ?? "")?.has(runKey(row.submittedAt, row.run)) === true;
    return isPlaced === isOpen(row) ? undefined : `it is ${isPlaced ? "" : "not "}indexed on ${row.worker}`;
  }),
  ofRows("rules.md#invariant-9", workers, (before, row, state) => {
    const isPermit = before === undefined && row.kind === "cloud" && row.adopt === undefined;
    const count = isPermit ? [...providedWorkers(state)].length : 0;
    const most = state.record?.config.maxInstances ?? 0;
    return count > most ? `it is permit ${count}, but at most ${most} are allowed` : undefined;
  }),
  ofRows("projects.md#machines", workers, (before, { project }) =>
    before === undefined ||
    before.project === null ||
    before.project === project ||
    project === SEVERAL_PROJECTS
      ? undefined
      : `it was of project ${before.project}, and is of ${project}`,
  ),
  ofRows("projects.md#machines", runs, (before, row, { record, workers: all }) => {
    if (record === null || !isOpen(row) || before?.opened === row.opened) return undefined;
    const machine = all.get(row.worker ?? "");
    if (machine === undefined || isOpenTo(record.config, row.project, machine)) return undefined;
    return `it is of project ${row.project}, and its machine of ${machine.project}`;
  }),
  ofRows("pool.md#arrays", runs, (before, row, { memo }) => {
    const most = row.array?.maxParallel;
    if (most === undefined || !isOpen(row) || before?.opened === row.opened) return undefined;
    let placed = 0;
    for (const on of memo.index.placed.values())
      for (const one of on.values())
        if (one.project === row.project && one.array?.id === row.array?.id && !isKept(one)) placed += 1;
    return placed > most
      ? `it is placed as one of ${placed} of its array, and at most ${most} may be`
      : undefined;
  }),
  ofRows("pool.md#concurrency-keys", runs, (before, row, { memo }) => {
    if (row.concurrency === undefined || !isOpen(row) || before?.opened === row.opened) return undefined;
    const holders = [...memo.index.sharing.of(row)].filter(holdsSlot);
    // Each counts its own limit, and one with a higher limit may have been placed last.
    const most = Math.max(...holders.map(({ concurrency }) => concurrency?.limit ?? 1));
    return holders.length > most
      ? `it is one of ${holders.length} that hold a slot of its key, and at most ${most} may`
      : undefined;
  }),
  ofRows("pool.md#array-ends", runs, (_before, { wants, deferred, awaitsArrays }) =>
    wants === "place" && (deferred === true || awaitsArrays !== undefined)
      ? "it wants a place, and awaits the ends of others"
      : undefined,
  ),
  ofRows("pool.md#fail-at", runs, (before, row, { memo }) => {
    if (!isOpen(row) || before?.opened === row.opened || row.array?.failAt === undefined) return undefined;
    const why = endsWithArray(memo.index.arrays, row);
    return why && `it is placed although ${why}`;
  }),
  ofRows("pool.md#replacing", runs, (before, row, state) => {
    if (row.replace === undefined || !isOpen(row) || before?.opened === row.opened) return undefined;
    const other = row.replacedBy === undefined ? runToOutlive(state, row) : row;
    return other && `it is placed although it is replaced, or ${other.run} has not ended`;
  }),
  ofRows("workers.md#transitions", workers, (before, { phase, instance }) =>
    before?.phase === "gone" && phase !== "gone" && instance === null
      ? `it was gone, and is ${phase}`
      : undefined,
  ),
];
