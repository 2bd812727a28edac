// Which refused requests does the audit log hear of (audit.md#denied)?
import type { Instant, Millis } from "../../shared/machine.ts";
import { BoundedMap } from "./bounded-map.ts";

/** How often an isolate reports the refusals of one caller at most. */
const REPORT_EVERY_MS: Millis = 60_000;
/** The most callers that one isolate remembers. */
const MAX_CALLERS = 1_000;

/** Counts refused requests by caller, so that a caller cannot fill the log. */
export class Denials {
  readonly #counts = new BoundedMap<string, { reportedAt: Instant; since: number }>(MAX_CALLERS);

  /** Counts a refusal. Returns how many refusals to report now; 0: a report was made a moment ago. */
  count(caller: string, now: Instant): number {
    const { reportedAt = Number.NEGATIVE_INFINITY, since = 0 } = this.#counts.get(caller) ?? {};
    const isDue = now - reportedAt >= REPORT_EVERY_MS;
    this.#counts.set(caller, isDue ? { reportedAt: now, since: 0 } : { reportedAt, since: since + 1 });
    return isDue ? since + 1 : 0;
  }
}
