import type { AllocationRecord, Tombstone } from "../../../src/core/allocation/state.ts";
import { jobIdOf, tickRunId } from "../../../src/core/job/ids.ts";
import {
  type JobRecord,
  type OwedTick,
  type StoredSkip,
  type VersionRow,
  versionKey,
} from "../../../src/core/job/record.ts";
import { instantsAfter } from "../../../src/core/job/schedule/ticks.ts";
import { groupOf } from "../../../src/core/spec.ts";
import type { SubmitRequest } from "../../../src/objects/rpc.ts";
import { jobsIn, nameOf, onOf, runOf } from "../../../src/shared/after/entries.ts";
import { JOB_LABELS } from "../../../src/shared/jobs/labels.ts";
import type { FollowQuestion, ToFollow } from "../../../src/shared/jobs/to-follow.ts";
import type { Audit } from "../audit.ts";
import type { World } from "../world.ts";
import type { JobNode } from "./node.ts";
import { RedriveAudit } from "./redrives.ts";

/** What is known of one tick of a job, by what the job has stored and what was submitted. */
interface KnownTick {
  job: string;
  at: number;
  /** When its job has decided about it. */
  notedAt: number;
  version: number;
  isSkipped: boolean;
  /** The job itself has submitted its run. */
  isSent: boolean;
  /** A submission arrived when its tick was skipped, or from somebody who ran the tick by hand. */
  isLate?: boolean;
  /** Its run was submitted before the tick was stored (jobs.md#held). */
  isHeld?: boolean;
}

/**
 * Looks after what a job promises (jobs.md#ticks): each tick that has come has one run or one reason for
 * having none, its run has the version of its tick, and a job that is removed makes none.
 */
export class JobAudit {
  readonly #world: World;
  readonly #runs: Audit;
  readonly #nodes = new Map<string, JobNode>();
  /** By the id of its run: each tick of each job. */
  readonly #ticks = new Map<string, KnownTick>();
  readonly #redrives: RedriveAudit;

  readonly #allocation: (run: string) => AllocationRecord | Tombstone | null;

  constructor(world: World, runs: Audit, stored: (run: string) => AllocationRecord | Tombstone | null) {
    this.#world = world;
    this.#runs = runs;
    this.#redrives = new RedriveAudit(world);
    this.#allocation = stored;
  }

  job(node: JobNode, before: JobRecord | null, after: JobRecord | null): void {
    this.#nodes.set(node.name, node);
    if (after === null) return;
    if (before === null || before.createdAt !== after.createdAt) {
      this.#begins(node, after);
      return;
    }
    this.#conserves(node, before, after);
    if (after.paused !== null && before.paused === null) this.#world.tell(node.name, "is paused");
    if (after.version > before.version) this.#world.tell(node.name, `has version ${after.version}`);
  }

  #begins({ name }: JobNode, { owed, skips }: JobRecord): void {
    this.#world.tell(name, "is stored");
    // After the clock was set back, a tick of a removed job may come again, for the next job of that name.
    for (const [run, { job }] of this.#ticks) if (job === name) this.#ticks.delete(run);
    if (owed.length + skips.length > 0) this.#broken(name, "owes ticks from before its time");
  }

  /** What has come by this step is owed or skipped, and what is owed no more has a run or a reason. */
  #conserves(node: JobNode, before: JobRecord, after: JobRecord): void {
    const { name } = node;
    if (after.removed !== undefined) return;
    const come = this.#cameBy(node, before, after);
    const owedBefore = new Map(before.owed.map((one) => [one.tick.at, one]));
    const owed = after.owed.filter(({ tick }) => !owedBefore.has(tick.at));
    // Of the first one an object that was loaded since asks whether it had a run (jobs.md#held-2).
    const isUnasked = owed.some(({ otherwise }) => otherwise !== "paused");
    if (isUnasked && before.paused !== null && after.paused !== null)
      this.#broken(name, "owes a tick of its pause");
    const known = new Set(before.skips);
    const skips = after.skips.filter((skip) => !known.has(skip));
    for (const { tick, version, otherwise } of owed) {
      this.#world.tell(name, `owes ${iso(tick.at)} with version ${version}`);
      if (!come.includes(tick.at)) this.#broken(name, `owes ${iso(tick.at)}, which is no tick of its time`);
      if (version !== before.version && otherwise !== "paused")
        this.#broken(name, `owes ${iso(tick.at)} with version ${version}, not ${before.version}`);
      this.#note(before, tick.at, { version, isSkipped: false, isSent: false });
    }
    for (const at of come) {
      const isOwed = owed.some(({ tick }) => tick.at === at);
      if (this.#isMade(before, at) && !isOwed && !covers(skips, at)) continue;
      if (isOwed === covers(skips, at))
        this.#broken(name, `${isOwed ? "owes and skips" : "forgets"} ${iso(at)}`);
    }
    const left = new Set(after.owed.map(({ tick }) => tick.at));
    const settled = before.owed.filter(({ tick }) => !left.has(tick.at));
    for (const { tick, version } of settled) {
      const run = tickRunId(before.project, before.name, tick.at);
      if (covers(skips, tick.at)) this.#note(before, tick.at, { version, isSkipped: true, isSent: true });
      // Somebody may have run the tick by hand, and have had no answer before that run was ended.
      else if (!this.#runs.acknowledged.has(run) && this.#allocation(run) === null)
        this.#broken(name, `has no run of ${iso(tick.at)}`);
    }
    for (const at of come) if (covers(skips, at)) this.#isSkipped(before, at);
    for (const { from, to, count, reason } of skips)
      this.#world.tell(name, `skips ${count} ticks from ${iso(from)} to ${iso(to)}: ${reason}`);
    const ticks = [...come, ...settled.map(({ tick }) => tick.at)];
    const gone = before.skips.filter((skip) => !after.skips.includes(skip));
    for (const skip of skips) this.#isCounted(name, skip, ticks, gone);
  }

  /** A tick that was never stored as owed has its run: it was held (jobs.md#held). */
  #isMade({ project, name }: JobRecord, at: number): boolean {
    const run = tickRunId(project, name, at);
    return this.#ticks.get(run)?.isHeld === true && this.#runs.acknowledged.has(run);
  }

  /** The ticks that this step has to decide about. */
  #cameBy(node: JobNode, before: JobRecord, after: JobRecord): number[] {
    const schedule = versionIn(node, before.version)?.fields.schedule;
    if (schedule === undefined) return [];
    // The ticks of before belong to the version of before: they are decided before it changes.
    const isChanged = after.version > before.version && before.paused === null && after.paused === null;
    const until = isChanged ? Math.max(after.since.at, this.#world.planeNow) : after.since.at;
    const come: number[] = [];
    for (const at of instantsAfter(schedule, before.since)) {
      if (at > until) break;
      come.push(at);
    }
    return come;
  }

  #note(
    { project, name }: JobRecord,
    at: number,
    tick: Pick<KnownTick, "version" | "isSkipped" | "isSent">,
  ): void {
    const run = tickRunId(project, name, at);
    const known = this.#ticks.get(run);
    if (known !== undefined && !known.isHeld && !tick.isSkipped && this.#world.jumpedAt < 0)
      this.#broken(name, `has decided about ${iso(at)} before`);
    const isSent = known?.isSent ?? false;
    const notedAt = known?.notedAt ?? this.#world.planeNow;
    const isLate = known?.isLate ?? false;
    this.#ticks.set(run, { ...tick, isSent, isLate, job: jobIdOf({ project, name }), at, notedAt });
  }

  #isSkipped(record: JobRecord, at: number): void {
    this.#note(record, at, { version: record.version, isSkipped: true, isSent: false });
  }

  /** `gone`: the stretches before, which it may have joined. */
  #isCounted(name: string, skip: StoredSkip, ticks: number[], gone: readonly StoredSkip[]): void {
    const { from, to, count, reason } = skip;
    const joined = gone.filter((one) => one.from >= from && one.to <= to);
    const before = joined.reduce((sum, one) => sum + one.count, 0);
    const covered = before + ticks.filter((at) => at >= from && at <= to).length;
    if (covered !== count)
      this.#broken(name, `skips ${count} ticks from ${iso(from)} to ${iso(to)} (${reason}), of ${covered}`);
  }

  /** A submission leaves the job: of a tick that it owes or holds, with the version of that tick. */
  sends(from: string, run: string, { spec, by, notAfter }: SubmitRequest): void {
    const [open] = jobsIn(spec.after ?? []);
    if (open !== undefined) this.#broken(from, `submits ${run}, and nobody has chosen a run of ${open.job}`);
    if (!by.startsWith("job:")) return;
    const node = this.#nodes.get(from);
    const record = node?.disk.value;
    const isThere = record != null && record.removed === undefined;
    const held = node?.peek()?.memo.held?.owed;
    const all = isThere ? [...record.owed, ...(held === undefined ? [] : [held])] : [];
    // With 0 it only asks whether the run is there, also before its start.
    const makes = notAfter !== 0;
    const owed = all.find(({ tick }) => isThere && run === tickRunId(record.project, record.name, tick.at));
    if (isThere && owed !== undefined && owed === held) this.#holds(record, owed);
    if (owed === undefined) this.#broken(from, `submits ${run}, which it does not owe`);
    // It may have been on its way when the clock went back.
    else if (makes && owed.startAt > Math.max(this.#world.planeNow, this.#world.planeWasAt))
      this.#broken(from, `submits ${run} too early`);
    const version = Number(spec.labels[JOB_LABELS.version]);
    const known = this.#ticks.get(run);
    if (known !== undefined && makes) known.isSent = true;
    if (known?.version !== version)
      this.#broken(from, `submits ${run} with version ${version}, not ${known?.version}`);
  }

  /** A tick is submitted before it is stored. It may be found again, if the object dies now. */
  #holds(record: JobRecord, { tick, version }: OwedTick): void {
    const run = tickRunId(record.project, record.name, tick.at);
    if (tick.at <= record.since.at) this.#broken(record.name, `holds ${iso(tick.at)}, which is handled`);
    if (version !== record.version) this.#broken(record.name, `holds ${iso(tick.at)} with another version`);
    const [job, at, notedAt] = [jobIdOf(record), tick.at, this.#world.planeNow];
    if (!this.#ticks.has(run))
      this.#ticks.set(run, { version, isSkipped: false, isSent: true, isHeld: true, job, at, notedAt });
  }

  /**
   * No tick is passed over that counts and has a run, or will have one (jobs.md#following): what follows
   * would start too early.
   */
  followed(job: string, { tick, maxAgeMs }: FollowQuestion, answer: ToFollow, at: number): void {
    if (tick === null || answer.kind === "waits") return;
    const chosen = answer.kind === "run" ? this.#stored(answer.run) : undefined;
    if (answer.kind === "run" && chosen === undefined) return; // it was deleted meanwhile
    const oldest = maxAgeMs === null ? Number.NEGATIVE_INFINITY : tick - maxAgeMs;
    const after = chosen === undefined ? oldest - 1 : instantOf(chosen);
    for (const [run, known] of this.#ticks) {
      const counts = known.job === job && !known.isSkipped && known.at <= tick && known.notedAt <= at;
      if (!counts || run === chosen?.id || this.#comesAt(run, known) <= after) continue;
      this.#world.violated(`following: ${job} passes over ${run} for ${iso(tick)}`, job, run);
    }
  }

  /** For when the run of a tick stands, if it is to come or goes on. One that has ended may be unknown. */
  #comesAt(run: string, { job, at }: KnownTick): number {
    const record = this.#stored(run);
    if (record !== undefined) return record.ended ? Number.NEGATIVE_INFINITY : instantOf(record);
    const owed = this.#nodes.get(job)?.disk.value?.owed.some(({ tick }) => tick.at === at) === true;
    return owed ? at : Number.NEGATIVE_INFINITY;
  }

  #stored(run: string): AllocationRecord | undefined {
    const value = this.#allocation(run);
    return value !== null && "spec" in value ? value : undefined;
  }

  begins(run: string, request: SubmitRequest): void {
    const { spec } = request;
    this.#redrives.begins(run, request);
    if (spec.after !== undefined) {
      const follows = spec.after.map((one) => ({
        name: nameOf(one),
        runs: [runOf(one) ?? ""],
        on: onOf(one),
      }));
      this.#runs.following.follows.set(run, follows);
    }
    // What was refused may arrive once more, late: then there is a run beside the reason, and never a second.
    // So may what somebody runs by hand, after the run has told its job that it is too late.
    const known = this.#ticks.get(run);
    const isByHand = !request.by.startsWith("job:");
    if (known !== undefined && (known.isSkipped || isByHand)) known.isLate = true;
    this.#runs.groups.set(run, groupOf(spec));
    this.#runs.concurrency.submitted({ id: run, spec });
  }

  taken(run: string): void {
    if (this.#runs.acknowledged.has(run)) return;
    this.#runs.acknowledged.add(run);
    this.#runs.submitted += 1;
    this.#world.tell(run, "is acknowledged");
  }

  made(): Iterable<string> {
    return this.#runs.acknowledged;
  }

  /** At the end of a story: no tick has both a run and a reason for having none. */
  afterAll(): void {
    this.#redrives.afterAll(this.#allocation);
    for (const [run, { isSkipped, isSent, isLate = false }] of this.#ticks)
      if (isSkipped && isSent && !isLate && this.#allocation(run) !== null)
        this.#world.violated(
          `tick-1: ${run} was made, and its tick is skipped`,
          run,
          run.replace(/-at-.*/, ""),
        );
  }

  #broken(job: string, what: string): void {
    this.#world.violated(`tick-1: ${job} ${what}`, job);
  }
}

/** For when a run of a job stands: its tick, or its submission. */
function instantOf({ spec, submittedAt }: AllocationRecord): number {
  const tick = Date.parse(spec.labels[JOB_LABELS.tick] ?? "");
  return Number.isNaN(tick) ? submittedAt : Math.min(tick, submittedAt);
}

function covers(skips: readonly StoredSkip[], at: number): boolean {
  return skips.some(({ from, to }) => from <= at && at <= to);
}

/** A version as it is stored, if it is kept. */
export function versionIn(node: JobNode, version: number): VersionRow | undefined {
  // Only the job's machine writes this table.
  return node.disk.tables.get("versions")?.get(versionKey(version)) as VersionRow | undefined;
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
