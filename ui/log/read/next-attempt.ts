// Which attempt of a task comes after one that has ended, and can there be one?
import { ask } from "../../api/send.ts";
import { isTemporary } from "../../api/temporary.ts";
import { pauseIn } from "./pause.ts";
import { inTurn } from "./sharing.ts";

/** What a view does when its attempt has ended. */
export interface Following {
  /** Whether it shows the attempts that follow. */
  goesOn: boolean;
  /** Hears of each attempt that follows. Undefined: the run has ended, so none can. */
  onNext: (() => void) | undefined;
}

/**
 * Waits for the attempt that a view shows after `last` (ui.md#d3). A view that stays with the one that it has
 * only hears of others, for as long as it waits. Undefined if nothing is to be shown. Rejects like
 * `nextAttempt`.
 */
export async function attemptToShow(
  name: { run: string; task: string; last: string },
  { goesOn, onNext }: Following,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (let { last } = name; onNext !== undefined; ) {
    const next = await nextAttempt({ ...name, last }, signal, pauseIn(signal));
    if (next === undefined) return undefined;
    onNext();
    if (goesOn) return next;
    last = next;
  }
  return undefined;
}

/** How long one question waits for a change. */
const WAIT = "30s";

/**
 * Waits for the attempt after `last` (ui.md#d3). Undefined if none can follow. Only the latest attempts are
 * kept: if `last` is not among them, the oldest kept one comes next. Throws what is final, and the signal's
 * reason.
 */
export async function nextAttempt(
  { run, task, last }: { run: string; task: string; last: string },
  signal: AbortSignal,
  pause: (failures: number) => Promise<void>,
): Promise<string | undefined> {
  for (let failures = 0; ; ) {
    try {
      const { tasks } = await ask("getRun", { path: { id: run } }, signal);
      const known = tasks.find(({ name }) => name === task);
      const names = known?.attempts.map(({ id }) => id.slice(id.lastIndexOf("/") + 1)) ?? [];
      const next = names[names.indexOf(last) + 1];
      if (next !== undefined) return next;
      if (known === undefined || known.phase === "dead") return undefined;
      const seen = Math.max(0, ...tasks.flatMap(({ events }) => events.map(({ seq }) => seq)));
      const query = { after: String(seen), wait: WAIT };
      // Others may want the connection: then the run is asked for again, and its next events.
      await inTurn(signal, (turn) => ask("listRunEvents", { path: { id: run }, query }, turn));
      failures = 0;
    } catch (error) {
      signal.throwIfAborted();
      if (!isTemporary(error)) throw error;
      failures += 1;
      await pause(failures);
    }
  }
}
