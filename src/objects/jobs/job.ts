// Which storage and methods does a job have? Its decisions are in `core/job`.
import { DurableObject } from "cloudflare:workers";
import type { Via } from "../../core/audit/via.ts";
import type { JobEvent, JobRequest } from "../../core/job/events.ts";
import { type JobMessage, jobMachine } from "../../core/job/machine.ts";
import { comingFrom, jobView, ticksAfter, versionView } from "../../core/job/read.ts";
import {
  type ExistingJob,
  type JobRecord,
  type JobState,
  jobOf,
  type VersionRow,
  versionOf,
} from "../../core/job/record.ts";
import { skippedOf } from "../../core/job/skips/counts.ts";
import { listingOf } from "../../core/job/summary.ts";
import type { Put } from "../../core/job/versions.ts";
import type { Named } from "../../core/registry/projects.ts";
import { Rows } from "../../core/rows.ts";
import type { JobTick, JobVersion, Previewed, Job as View } from "../../schema/job/job.ts";
import type { FollowQuestion, ToFollow } from "../../shared/jobs/to-follow.ts";
import { unknownJob } from "../../shared/jobs/unknown.ts";
import type { Instant } from "../../shared/machine.ts";
import type { Env, JobStub } from "../env.ts";
import { peersOf } from "../messages/stubs.ts";
import { Shell } from "../shell.ts";
import { SqlRowDisk, ValueStore } from "../store.ts";
import { acknowledged } from "../waiting.ts";
import type { JobApi, PutAnswer, RedriveJob, Triggered, TriggerJob } from "./api.ts";
import { redriveRuns } from "./redrive-runs.ts";
import { refuseJob, refusePreview } from "./refuse-job.ts";
import { runToFollow } from "./run-to-follow.ts";
import { sendOfJob } from "./send.ts";
import { hashOfGiven, submitTrigger } from "./submit-trigger.ts";
import { wakeJob } from "./wake.ts";

/** The Durable Object of a job. */
export class Job extends DurableObject<Env> implements JobStub {
  readonly #store = new ValueStore<JobRecord>(this.ctx.storage);
  readonly #versions = new SqlRowDisk<VersionRow>(this.ctx.storage.sql, "versions");
  readonly #shell = new Shell<JobState, JobEvent, JobMessage>(this.ctx, jobMachine, {
    load: () => ({
      record: this.#store.read(),
      versions: new Rows(this.#versions, () => true),
      memo: {},
    }),
    isStored: ({ versions, record }) => versions.isFlushed && this.#store.has(record),
    save: (state) => {
      state.versions.flush();
      this.#store.set(state.record);
    },
    saved: () => this.#sweep(),
    send: (message): Promise<JobEvent> => sendOfJob(peersOf(this.env), () => this.#actor.state, message),
  });
  readonly #actor = this.#shell.actor;

  /** After the job was removed: its object keeps nothing, and its name can be used again. */
  #sweep(): void {
    if (!this.#store.sweep()) return;
    this.#versions.emptied();
    this.#shell.emptied();
  }

  override async alarm(): Promise<void> {
    await wakeJob(this.#actor, (event) => this.#shell.alarm(event));
  }

  #existing(): ExistingJob {
    const job = jobOf(this.#actor.state);
    if (job === undefined) throw unknownJob(this.#actor.state.record?.name ?? this.ctx.id.name ?? "");
    return job;
  }

  #view(): View {
    return jobView(this.#existing(), this.#shell.now());
  }

  #asked(request: JobRequest): View {
    this.#shell.enter();
    this.#existing();
    this.#actor.apply(request);
    return this.#view();
  }

  /** Waits until the registry lists the job as it is. */
  async #listed(): Promise<void> {
    const text = "the change is stored, but the list of jobs does not show it yet; it will be tried again";
    await acknowledged(this.#actor, () => listingOf(this.#actor.state) === undefined, text);
  }

  async put(request: Put, via?: Via): Promise<PutAnswer> {
    refuseJob(request, this.#shell.now());
    const before = this.#shell.enter().record;
    // One that is being removed must be gone first.
    if (before?.removed !== undefined) await this.#listed();
    const created = this.#actor.state.record === null;
    this.#actor.apply({ type: "put", ...request, via });
    await this.#listed();
    return { created, job: this.#view() };
  }

  async read(): Promise<View> {
    this.#shell.enter();
    return this.#view();
  }

  async ticks(count: number, after: Instant | null): Promise<JobTick[]> {
    this.#shell.enter();
    const { record, ...job } = this.#existing();
    const { schedule } = versionOf(job, record.version).fields;
    return schedule === undefined
      ? []
      : ticksAfter(
          record,
          schedule,
          after === null ? comingFrom(record, this.#shell.now()) : { at: after },
          count,
        );
  }

  async preview(named: Named, shown: Previewed, count: number): Promise<JobTick[]> {
    this.#shell.count();
    const now = this.#shell.now();
    refusePreview(named, shown, now);
    const { fields, schedule = fields?.schedule } = shown;
    return schedule === undefined ? [] : ticksAfter(named, schedule, { at: now }, count);
  }

  async versions(): ReturnType<JobApi["versions"]> {
    this.#shell.enter();
    const { versions } = this.#existing();
    return [...versions.live()]
      .sort((a, b) => b.version - a.version)
      .map((row): JobVersion => versionView(row));
  }

  async remove(by: string, via?: Via): Promise<void> {
    this.#shell.enter();
    this.#existing();
    this.#actor.apply({ type: "remove", by, via });
    await this.#listed();
  }

  async pause(by: string, via?: Via): Promise<View> {
    return this.#asked({ type: "pause", by, via });
  }

  async resume(makeUp: boolean, by: string, via?: Via): Promise<View> {
    return this.#asked({ type: "resume", makeUp, by, via });
  }

  async trigger(request: TriggerJob, via?: Via): Promise<Triggered> {
    this.#shell.enter();
    const hash = await hashOfGiven(this.#existing().record.name, request.given);
    const made = { hash, now: this.#shell.now(), via };
    return submitTrigger(peersOf(this.env), this.#existing(), request, made);
  }

  async runToFollow(question: FollowQuestion): Promise<ToFollow> {
    this.#shell.enter();
    return runToFollow(peersOf(this.env), this.#existing(), question, this.#shell.now());
  }

  async redrive(request: RedriveJob, via?: Via): ReturnType<JobApi["redrive"]> {
    this.#shell.enter();
    return redriveRuns(peersOf(this.env), this.#existing(), request, via);
  }

  async poke(): ReturnType<JobApi["poke"]> {
    const { record } = this.#shell.enter();
    return (record && skippedOf(record)) ?? null;
  }
}
