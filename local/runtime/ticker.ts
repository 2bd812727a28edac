// Who fires the cron triggers of the Worker here?

const EVERY_N_MINUTES = /^\*\/([1-9]\d?) \* \* \* \*$/;
const MINUTE_MS = 60_000;

/**
 * Calls `fire` for each cron immediately, and then at its interval, since Miniflare fires no cron triggers
 * (tools.md#cron). Returns a function that stops the calls. Throws for any cron but "every n minutes": a cron
 * that never fires would leave objects without an alarm asleep forever.
 */
export function ticker(
  crons: string[],
  fire: (cron: string) => Promise<unknown>,
  onProblem: (text: string) => void,
): () => void {
  let over = false;
  const timers = crons.map((cron) => {
    const minutes = EVERY_N_MINUTES.exec(cron)?.[1];
    if (minutes === undefined)
      throw new Error(`Only crons such as "*/5 * * * *" are known here, not "${cron}".`);
    const tick = () =>
      void fire(cron).catch((error) => {
        // A cron that is in flight when the runtime is disposed of fails. That is expected.
        if (!over) onProblem(`The cron ${cron} failed. ${String(error)}`);
      });
    tick();
    return setInterval(tick, Number(minutes) * MINUTE_MS).unref();
  });
  return () => {
    over = true;
    for (const timer of timers) clearInterval(timer);
  };
}
