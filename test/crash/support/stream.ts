import { setTimeout as sleep } from "node:timers/promises";
import { isTerminal } from "../../../src/shared/run-state.ts";
import type { RunningDrover } from "../../edge/support/drover.ts";
import { until } from "../../local/support/scratch.ts";
import type { Chance } from "../../sim/rng.ts";
import { type Job, type JobsOf, nextJob } from "./jobs.ts";
import type { Told } from "./told.ts";

/** More users than the machines can serve at the same time, so that some runs wait. */
const USERS = 12;
/** The pause before a user who got no answer tries again. */
const ASK_AGAIN_MS = 30;
/** How long a request for the end of a run is held: a crash ends it earlier. */
const HELD = "5s";

/** The system under test: `up` is a new one after each crash. */
export interface System {
  home: string;
  pool: string;
  effects: string;
  up: RunningDrover;
  told: Told;
  /** What should never have been seen, in words. */
  problems: string[];
}

/**
 * Users who submit, abort and watch runs, each user one run after the other, as long as the stream lasts. A
 * user who gets no answer tries again, as must every client whose control plane may crash (rule R1).
 */
export class Stream {
  readonly jobs: Job[] = [];
  /** Runs whose abort was acknowledged while they had not ended. */
  readonly aborted = new Set<string>();
  readonly #system: System;
  readonly #of: JobsOf;
  readonly #chance: Chance;
  readonly #users: Promise<unknown>;
  #over = false;
  #gaveUp = false;

  constructor(system: System, batch: string, chance: Chance) {
    this.#system = system;
    this.#of = { batch, pool: system.pool, effects: system.effects };
    this.#chance = chance;
    this.#users = Promise.all(Array.from({ length: USERS }, () => this.#useAll()));
    // Whoever waits for the end gets the error; before that it must not count as unhandled.
    this.#users.catch(() => undefined);
  }

  /** Runs that were submitted, or are about to be, and whose end no user has seen. */
  get live(): string[] {
    return this.jobs.map(({ id }) => id).filter((id) => this.#system.told.statusOf(id) === undefined);
  }

  /** No more runs are submitted; resolves when all have ended. */
  async end(): Promise<void> {
    this.#over = true;
    try {
      await until("every run has ended", () => this.live.length === 0 || undefined);
    } finally {
      this.#gaveUp = true;
    }
    await this.#users;
  }

  async #useAll(): Promise<void> {
    while (!this.#over) {
      const job = nextJob(this.#of, this.jobs.length, this.#chance);
      this.jobs.push(job);
      await this.#use(job);
    }
  }

  async #use(job: Job): Promise<void> {
    const { id, spec, abortAfterMs } = job;
    await this.#persist(`${id} is acknowledged`, [200, 201], "POST", "/v1/runs", spec);
    if (abortAfterMs !== null) {
      await sleep(abortAfterMs);
      if (await this.#abort(id)) this.aborted.add(id);
    }
    // As long as necessary: many crashes take long. The end of the stream has a deadline.
    while (!this.#gaveUp && this.#system.told.statusOf(id) === undefined) await this.#lookAt(id);
  }

  async #lookAt(id: string): Promise<void> {
    const done = await this.#ask("GET", `/v1/runs/${id}?wait=${HELD}&state=done`);
    if (done?.status !== 200 || !isTerminal(JSON.parse(done.text).state)) return;
    const { up, told, problems } = this.#system;
    // A user who gets half an answer has learned nothing.
    const read = await told.read(up, id).catch(() => undefined);
    problems.push(...(read?.changes ?? []));
  }

  /** Whether the abort was acknowledged before the run had ended, or ended it. */
  async #abort(id: string): Promise<boolean> {
    const body = { reason: "enough" };
    const answer = await this.#persist(`${id} is aborted`, [200], "POST", `/v1/runs/${id}/abort`, body);
    const { state } = JSON.parse(answer);
    return !isTerminal(state) || state === "aborted";
  }

  #persist(what: string, statuses: number[], ...call: Parameters<RunningDrover["call"]>): Promise<string> {
    return until(what, async () => {
      const answer = await this.#ask(...call);
      if (answer === undefined || answer.status >= 500) return undefined;
      if (!statuses.includes(answer.status)) throw new Error(`${what}: ${answer.status} ${answer.text}`);
      return answer.text;
    });
  }

  /** An answer that arrived whole; else undefined, a moment later. */
  async #ask(...call: Parameters<RunningDrover["call"]>) {
    try {
      const answer = await this.#system.up.call(...call);
      return { status: answer.status, text: await answer.text() };
    } catch {
      await sleep(ASK_AGAIN_MS);
      return undefined;
    }
  }
}
