// How are checks of tasks tried on this machine (health.md#tries)?
import { errorText } from "../../../src/shared/words.ts";
import type { CheckResult } from "../../core/checks/results.ts";
import type { MessageOf } from "../../core/messages.ts";
import type { Inside } from "../processes/inside.ts";
import { endLeftovers, startCommand } from "./command.ts";
import { tryHttp, tryTcp } from "./connect.ts";
import { critical } from "./outcome.ts";

export interface CheckerOptions {
  /** Tells this host from others on the same machine (`hostMark`). */
  host: string;
  /** Starts something beside the main process of an attempt. False: there is no such place. */
  enter: (id: string, start: (inside: Inside) => Promise<void>) => Promise<boolean>;
  /** Where the ports of an attempt are; null: it has none, or nobody knows (health.md#address). */
  addressOf: (id: string) => string | null;
  /** Whether what reaches into an attempt does not answer now (health.md#tries). */
  isAway: (id: string) => boolean;
  now: () => number;
}

/** Tries checks, and decides nothing. */
export class Checker {
  readonly #options: CheckerOptions;
  /** Checks of which an earlier start of the agent can have left nothing. */
  readonly #clean = new Set<string>();

  constructor(options: CheckerOptions) {
    this.#options = options;
  }

  /**
   * Tries a check, until its time-out or the signal. Null: it could not be tried, which says nothing of the
   * task. Never rejects.
   */
  async try({ id, to, check }: MessageOf<"check">, signal: AbortSignal): Promise<CheckResult | null> {
    const { addressOf, isAway } = this.#options;
    const { probe, timeoutMs } = check;
    try {
      const address = addressOf(id);
      if (isAway(id) && ("command" in probe || address === null)) return null;
      if (address === null) return critical("the container has no network, so it has no ports to try");
      const reach = { address, timeoutMs, signal };
      if ("tcp" in probe) return await tryTcp(probe, reach);
      if ("http" in probe) return await tryHttp(probe, reach);
      return await this.#command(id, to, probe.command.argv, reach);
    } catch (error) {
      return critical(`it could not be tried: ${errorText(error)}`);
    }
  }

  /** Drops what is remembered of the checks of an attempt. */
  forget(id: string): void {
    for (const name of this.#clean) if (name.startsWith(`${id}#`)) this.#clean.delete(name);
  }

  async #command(
    id: string,
    name: string,
    argv: string[],
    { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
  ): Promise<CheckResult> {
    const { enter, host, now } = this.#options;
    const mark = `${host}/${name}`;
    if (!this.#clean.has(name)) await endLeftovers(mark, now);
    this.#clean.add(name);
    let result: Promise<CheckResult> | undefined;
    const entered = await enter(id, async (inside) => {
      if (signal.aborted) return;
      ({ result } = await startCommand({ mark, argv, timeoutMs, signal, now }, inside));
    });
    if (result !== undefined) return result;
    return critical(
      entered
        ? "its try was ended"
        : "its command needs a running process of the task, and there is none: use `http` or `tcp`, or " +
            "another driver than `fake`",
    );
  }
}
