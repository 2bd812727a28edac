/** Below this the two clocks count as one: a `Date` is exact to a second, and an answer takes its time. */
const EXACT_MS = 2_000;

/** The server's time by the `Date` of an answer, or else that of this machine. */
export function serverNowOf({ headers }: Response): number {
  const at = Date.parse(headers.get("date") ?? "");
  return Number.isNaN(at) ? Date.now() : at;
}

/** The server's time, between answers: what it says of instants is compared with nothing else. */
export class ServerClock {
  #aheadMs = 0;

  /** Learns it from an answer that has just come. */
  learn(response: Response): void {
    const aheadMs = serverNowOf(response) - Date.now();
    this.#aheadMs = Math.abs(aheadMs) < EXACT_MS ? 0 : aheadMs;
  }

  /** In milliseconds since 1970; this machine's time as long as there was no answer. */
  now(): number {
    return Date.now() + this.#aheadMs;
  }
}
