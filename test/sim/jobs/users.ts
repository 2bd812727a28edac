import type { JobRequest } from "../../../src/core/job/events.ts";
import { jobIdOf } from "../../../src/core/job/ids.ts";
import { type JobRecord, jobOf } from "../../../src/core/job/record.ts";
import { dueTicks } from "../../../src/core/job/schedule/due.ts";
import { redriveRuns } from "../../../src/objects/jobs/redrive-runs.ts";
import { submitTrigger } from "../../../src/objects/jobs/submit-trigger.ts";
import type { JobFields } from "../../../src/schema/job/job.ts";
import type { AfterJob, AfterOn } from "../../../src/shared/after/entries.ts";
import { isDroverError } from "../../../src/shared/errors.ts";
import { Chance } from "../rng.ts";
import { NoReply, type World } from "../world.ts";
import { versionIn } from "./audit.ts";
import { anyFields, type Beginning } from "./fields.ts";
import { calledBy, type JobNode, type JobWorld } from "./node.ts";
import { parkedRuns } from "./redrives.ts";

const MOST_JOBS = 3;
const PUT_WITHIN_MS = 60_000;
/** Between two things that the user of a job does. */
const PAUSE_MS = { from: 5_000, to: 150_000 };
/** How long a doubled request is on its way at most, and its reply. */
const LATE_REQUEST_MS = 120_000;
/** How late a tick is handled where nothing fails: a job whose alarm was lost is poked once an hour. */
const BEHIND_MS = 180_000;
const POKED_WITHIN_MS = 2 * 3_600_000;
const LOOK_MS = 30_000;
/** Triggers have one of so few keys, so that some are repeated. */
const KEYS = 3;

/** The users of a story's jobs: each stores one, changes it, pauses it, runs it by hand, and removes it. */
export class JobUsers {
  readonly #world: World;
  readonly #around: JobWorld;
  readonly #job: (id: string) => JobNode;
  readonly #chance: Chance;
  readonly #beginning: Beginning;
  /** For which jobs are followed: all else is the same without. */
  readonly #apart: Chance;
  readonly #open = new Set<string>();
  /** All jobs of the story. */
  readonly #all: { project: string; name: string }[] = [];
  #n = 0;

  /** By a source of chance of its own, so that what else happens stays the same. */
  constructor(around: JobWorld, job: (id: string) => JobNode, beginning: Beginning, seed: number) {
    this.#world = around.world;
    this.#around = around;
    this.#job = job;
    this.#chance = new Chance(seed ^ 0x6a09e667);
    this.#apart = new Chance(seed ^ 0x3c6ef372);
    this.#beginning = beginning;
  }

  begin(projectOfNext: () => string): void {
    const count = this.#chance.between(1, MOST_JOBS);
    for (let i = 1; i <= count; i += 1) {
      const who = { project: projectOfNext(), name: `job-${i}` };
      this.#open.add(jobIdOf(who));
      this.#all.push(who);
      this.#world.time.after(this.#chance.between(0, PUT_WITHIN_MS), () => void this.#live(who));
    }
  }

  /** What has not come to its end yet. */
  unfinished(): string | undefined {
    const [open] = this.#open;
    return open;
  }

  async #live(who: { project: string; name: string }): Promise<void> {
    const { time } = this.#world;
    const node = this.#job(jobIdOf(who));
    let fields = await this.#put(node, who);
    while (!this.#world.quiet) {
      await time.sleep(this.#chance.between(PAUSE_MS.from, PAUSE_MS.to));
      if (!this.#world.quiet) fields = await this.#act(node, who, fields);
      await this.#redrive(node);
    }
    await time.sleep(LATE_REQUEST_MS);
    await this.#ask(node, { type: "resume", by: "user", makeUp: this.#chance.chance(0.5) });
    await this.#catchesUp(node);
    while (node.disk.value !== null) {
      if (node.disk.value.removed === undefined) await this.#ask(node, { type: "remove", by: "user" });
      await time.sleep(LOOK_MS);
    }
    this.#open.delete(node.name);
  }

  async #act(node: JobNode, who: { project: string; name: string }, fields: JobFields): Promise<JobFields> {
    const chance = this.#chance;
    const what = chance.between(1, 10);
    const by = "user";
    if (node.disk.value === null || what <= 3) return this.#put(node, who);
    if (what === 4) return this.#put(node, who, fields);
    if (what <= 6 || node.disk.value.paused !== null) {
      const makeUp = chance.chance(0.5);
      await this.#ask(
        node,
        node.disk.value.paused === null ? { type: "pause", by } : { type: "resume", by, makeUp },
      );
    } else if (what <= 9) await this.#trigger(node);
    else await this.#ask(node, { type: "remove", by });
    return fields;
  }

  /** As the object: one that is being removed must be gone first. */
  async #put(node: JobNode, who: { project: string; name: string }, same?: JobFields): Promise<JobFields> {
    this.#n += 1;
    const fields = same ?? this.#following(who, anyFields(this.#chance, this.#beginning, this.#n));
    const paused = this.#apart.pick([undefined, undefined, undefined, true, false]);
    const put: JobRequest = { type: "put", ...who, fields, paused, by: "user", budget: null };
    await this.#call(node, "put", () =>
      node.serve((actor) => {
        const { record } = actor.apply({ type: "tick" });
        if (record?.removed !== undefined) throw new NoReply("it is being removed");
        actor.apply(put);
      }),
    );
    return fields;
  }

  /** Some jobs follow earlier ones of their project, which may not be there: so none is in a circle. */
  #following({ project, name }: { project: string; name: string }, fields: JobFields): JobFields {
    const apart = this.#apart;
    const earlier = this.#all.filter((one) => one.project === project && one.name < name);
    const after = earlier
      .filter(() => apart.chance(0.5))
      .map((one): AfterJob => {
        const on = apart.pick<AfterOn>(["success", "any", "any", "failure"]);
        const maxAge = apart.pick([undefined, undefined, "2m", "10m"]);
        return { job: one.name, on, ...(maxAge === undefined ? {} : { maxAge }) };
      });
    return after.length === 0 ? fields : { ...fields, spec: { ...fields.spec, after } };
  }

  async #ask(node: JobNode, request: JobRequest): Promise<void> {
    this.#world.tell(node.name, `its user asks: ${request.type}`);
    await this.#call(node, request.type, () => node.serve((actor) => void actor.apply(request)));
  }

  /** Runs it by hand, once more with a key that was used before, or at a tick that may have its run. */
  async #trigger(node: JobNode): Promise<void> {
    const chance = this.#chance;
    const tick = node.disk.value?.since.at ?? 0;
    const run = chance.chance(0.3) ? { tick } : { key: `k${chance.between(1, KEYS)}` };
    this.#world.tell(node.name, `its user runs it by hand: ${JSON.stringify(run)}`);
    const request = { given: {}, run, priority: undefined, by: "user", budget: null };
    await this.#call(node, "trigger", () =>
      node.serve(async (actor) => {
        const job = jobOf(actor.apply({ type: "tick" }));
        if (job === undefined) return;
        try {
          const made = { hash: "none", now: this.#world.planeNow, via: undefined };
          await submitTrigger(calledBy(node.name, this.#around), job, request, made);
        } catch (error) {
          if (!isDroverError(error)) throw error; // it is refused, and its user knows why
        }
      }),
    );
  }

  /** Has whatever is parked run again, twice at once. */
  async #redrive(node: JobNode): Promise<void> {
    const record = node.disk.value;
    const runs = record === null ? [] : parkedRuns(record, this.#around.audit.made(), this.#around);
    if (runs.length === 0) return;
    const request = { runs, by: "user", budget: null };
    this.#world.tell(node.name, "its user redrives what is parked");
    const once = () =>
      this.#call(node, "redrive", () =>
        node.serve(async (actor) => {
          const job = jobOf(actor.apply({ type: "tick" }));
          if (job === undefined) return;
          const { items } = await redriveRuns(calledBy(node.name, this.#around), job, request, undefined);
          for (const { run, as } of items) this.#world.tell(run, `runs again as ${as}`);
        }),
      );
    await Promise.all([once(), once()]);
  }

  async #call(node: JobNode, what: string, serve: () => Promise<void>): Promise<void> {
    await this.#world.retrying(() => this.#world.call("client", node.name, what, serve));
  }

  /** Where nothing fails a job comes to all that is due, and to what it owes. */
  async #catchesUp(node: JobNode): Promise<void> {
    const since = this.#world.now;
    while (this.#isBehind(node)) {
      if (this.#world.now > since + POKED_WITHIN_MS) {
        this.#world.violated(`5: ${node.name} never comes to what is due`, node.name);
        return;
      }
      await this.#world.time.sleep(LOOK_MS);
    }
  }

  #isBehind(node: JobNode): boolean {
    const { value: record } = node.disk;
    if (record === null || record.removed !== undefined) return false;
    const now = this.#world.planeNow - BEHIND_MS;
    return record.owed.some(({ startAt }) => startAt < now) || hasDue(node, record, now);
  }
}

function hasDue(node: JobNode, record: JobRecord, now: number): boolean {
  const schedule = versionIn(node, record.version)?.fields.schedule;
  if (record.paused !== null || schedule === undefined) return false;
  const { runs, skips } = dueTicks(schedule, { since: record.since, now, job: record.name });
  return runs.length + skips.length > 0;
}
