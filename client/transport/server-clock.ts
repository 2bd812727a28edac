// What time is it on the server? Timestamps of the server are compared with this time, not with local time.

/** A smaller difference is ignored: `Date` has whole seconds, and an answer takes a while. */
const EXACT_MS = 2_000;

/** The server's time according to the `Date` header, or else this machine's time. */
export function serverNowOf({ headers }: Response): number {
  const at = Date.parse(headers.get("date") ?? "");
  return Number.isNaN(at) ? Date.now() : at;
}

/** Keeps the server's time between its answers. */
export class ServerClock {
  #aheadMs = 0;

  /** Learns the time from an answer that has just arrived. */
  learn(response: Response): void {
    const aheadMs = serverNowOf(response) - Date.now();
    this.#aheadMs = Math.abs(aheadMs) < EXACT_MS ? 0 : aheadMs;
  }

  /** Milliseconds since 1970; this machine's time before the first answer. */
  now(): number {
    return Date.now() + this.#aheadMs;
  }
}
