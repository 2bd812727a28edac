// What time is it on the server? Timestamps of the server are compared with this time, not with local time.

/** `Date` leaves out the milliseconds. */
const LEFT_OUT_MS = 999;

/** The server's time according to the `Date` header, or else this machine's time. */
export function serverNowOf({ headers }: Response): number {
  const at = Date.parse(headers.get("date") ?? "");
  return Number.isNaN(at) ? Date.now() : at;
}

/** Keeps the server's time between its answers. */
export class ServerClock {
  #aheadMs = 0;

  /**
   * To be called when a request is sent. What it returns learns the time from the answer that has just
   * arrived. The server made the answer in between, however long it was under way. So what is known changes
   * only as far as the answer proves it wrong. If this machine's clock was set meanwhile, the time of arrival
   * counts.
   */
  ask(): (response: Response) => void {
    const askedAt = Date.now();
    return ({ headers }) => {
      const at = Date.parse(headers.get("date") ?? "");
      if (Number.isNaN(at)) return;
      const [least, most] = [at - Date.now(), at + LEFT_OUT_MS - askedAt];
      this.#aheadMs = Math.max(Math.min(this.#aheadMs, most), least);
    };
  }

  /** Milliseconds since 1970; this machine's time before the first answer. */
  now(): number {
    return Date.now() + this.#aheadMs;
  }
}
