const EVERY_N_MINUTES = /^\*\/([1-9]\d?) \* \* \* \*$/;
const MINUTE_MS = 60_000;

/**
 * Calls `fire` for each cron at its interval and once at the beginning, and returns what stops that. Cron
 * triggers never fire by themselves under Miniflare (tools.md#cron). Only crons that mean "every n
 * minutes" are understood, and any other throws: one that silently never fires would leave forgotten objects
 * forgotten.
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
        // One that is under way when the runtime is disposed of fails, and that is no problem.
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
