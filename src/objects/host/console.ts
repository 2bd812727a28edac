// How is the console of a machine read, only when a person asks, and seldom (clouds.md#console)?
import {
  consoleTail,
  lastPart,
  machineWithConsole,
  plainConsole,
  withoutConsole,
} from "../../core/worker/read/console.ts";
import type { ExistingWorker } from "../../core/worker/state.ts";
import type { WorkerConsole } from "../../schema/pool/console.ts";
import { TRAITS } from "../../shared/cloud/kinds.ts";
import { DroverError } from "../../shared/errors.ts";
import type { Instant, Millis } from "../../shared/machine.ts";
import { iso } from "../../shared/time/instant.ts";
import type { Env } from "../env.ts";
import { peersOf } from "../messages/stubs.ts";
import type { Cloud } from "./cloud.ts";

/** Within this time the same answer is given again: a console changes slowly, and each look costs a call. */
export const CONSOLE_EVERY_MS: Millis = 5_000;

/** What passes by itself, so that the same question can be answered later. */
const PASSING: readonly string[] = ["rate_limit", "temporary"];

/** The console of one worker's machine. Its latest answer is in memory alone. */
export class MachineConsole {
  readonly #env: Env;
  readonly #cloud: Cloud;
  readonly #now: () => Instant;
  /** The latest answer, or the question for it, and from when until when it is given again. */
  #latest: { from: Instant; until: Instant; answer: Promise<WorkerConsole> } | undefined;

  constructor(env: Env, cloud: Cloud, now: () => Instant) {
    this.#env = env;
    this.#cloud = cloud;
    this.#now = now;
  }

  /**
   * The end of the console. Codes: `no_console`; `busy`, if the calls of the pool are used up for now;
   * `unavailable`, if the provider does not answer.
   */
  async read(state: ExistingWorker): Promise<WorkerConsole> {
    const [latest, now] = [this.#latest, this.#now()];
    // The clock of a laptop can be set back.
    if (latest !== undefined && latest.from <= now && now < latest.until) return latest.answer;
    // However long the call takes, questions at the same time share it.
    const asked = { from: now, until: Number.POSITIVE_INFINITY, answer: this.#ask(state) };
    this.#latest = asked;
    try {
      const answer = await asked.answer;
      asked.until = this.#now() + CONSOLE_EVERY_MS;
      return answer;
    } catch (error) {
      // A pause that the provider wants is kept. Other refusals may be over with the next question.
      const pauseMs = error instanceof DroverError ? (error.retryAfterMs ?? 0) : 0;
      asked.until = this.#now() + pauseMs;
      throw error;
    }
  }

  async #ask({ record }: ExistingWorker): Promise<WorkerConsole> {
    const { intent } = record;
    const found = machineWithConsole(record);
    if ("none" in found || intent.kind === "self-hosted") throw noConsole("none" in found ? found.none : "");
    if (!TRAITS[intent.provider.kind].hasConsole) throw noConsole(withoutConsole(intent.provider));
    const waitMs = await peersOf(this.#env).pool(intent.pool).takeCall();
    if (waitMs > 0) {
      const who = `the pool "${intent.pool}"`;
      const text = `${who} makes as many calls to its provider as it may: ask again shortly`;
      throw new DroverError("busy", text, { retryAfterMs: waitMs });
    }
    const readAt = iso(this.#now());
    const { answer, veil } = await this.#cloud.console(found.machine, intent);
    if (answer.kind === "none") throw noConsole(answer.text);
    if (answer.kind === "failed") {
      const { class: kind, text, retryAfterMs } = answer.failure;
      const what = `the provider did not show the console: ${veil(text)}`;
      if (!PASSING.includes(kind)) throw noConsole(what);
      throw new DroverError("unavailable", what, { retryAfterMs: retryAfterMs ?? CONSOLE_EVERY_MS });
    }
    const { text, isCut } = lastPart(answer);
    const shown = consoleTail(veil(plainConsole(text)), isCut);
    return { worker: intent.worker, readAt, updatedAt: answer.updatedAt, ...shown };
  }
}

function noConsole(text: string): DroverError {
  return new DroverError("no_console", text);
}
