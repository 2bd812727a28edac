// How the output of a task is followed from one attempt to the next.
import { ApiError } from "../errors.ts";
import type { Target } from "../transport/http.ts";
import { ask } from "../transport/operations.ts";
import { attemptsOf } from "./attempts.ts";
import { DEFAULT_UNREACHABLE_MS, type LogSelection, readLog } from "./logs.ts";
import { WAIT_STEP_MS } from "./until-done.ts";

/**
 * Yields one stream of a task, attempt after attempt, until there can be no further attempt. Starts with the
 * latest attempt, or with the oldest one (`fromFirst`), or waits for the first attempt.
 */
export async function* followTask(
  target: Target,
  run: string,
  { tail, tailLines, fromFirst, ...selection }: LogSelection,
): AsyncGenerator<Uint8Array> {
  let attempt = yield* readUnlessDropped(target, run, { ...selection, tail, tailLines, fromFirst });
  for (;;) {
    attempt = await nextAttempt(target, run, selection, attempt);
    if (attempt === undefined) return;
    attempt = yield* readUnlessDropped(target, run, { ...selection, attempt });
  }
}

/** Stands for an attempt that is no longer kept. For `nextAttempt`, the oldest that is kept comes next. */
const DROPPED = "dropped";

/** As `readLog`. A task that is started again and again drops old attempts, perhaps while one is read. */
async function* readUnlessDropped(
  target: Target,
  run: string,
  selection: LogSelection,
): AsyncGenerator<Uint8Array, string | undefined> {
  try {
    return yield* readLog(target, run, selection);
  } catch (error) {
    if (error instanceof ApiError && error.code === "unknown_attempt") return DROPPED;
    throw error;
  }
}

/**
 * Waits for the attempt after `last`; undefined if no attempt can follow. If `last` is undefined, the first
 * attempt has been read: its log was requested before the attempt existed.
 */
export async function nextAttempt(
  target: Target,
  run: string,
  {
    task,
    signal,
    unreachableMs = DEFAULT_UNREACHABLE_MS,
  }: Pick<LogSelection, "task" | "signal" | "unreachableMs">,
  last: string | undefined,
): Promise<string | undefined> {
  const patience = { unreachableMs, busyMs: unreachableMs };
  for (;;) {
    const { names, isOver, lastEvent } = await attemptsOf(target, run, task, { patience, signal });
    // Only the latest attempts are kept. If `last` is not among them, the oldest kept attempt comes next.
    const next = names[last === undefined ? 1 : names.indexOf(last) + 1];
    if (next !== undefined) return next;
    if (isOver) return undefined;
    const input = { path: { id: run }, query: { after: String(lastEvent) } };
    await ask(target, "listRunEvents", input, { patience, signal, waitMs: WAIT_STEP_MS });
  }
}
