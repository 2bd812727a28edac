import type { Target } from "../transport/http.ts";
import { ask } from "../transport/operations.ts";
import { attemptsOf } from "./attempts.ts";
import { DEFAULT_UNREACHABLE_MS, type LogWish, readLog } from "./logs.ts";

/** How long one question for what has changed is held. */
const WAIT_MS = 30_000;

/**
 * The bytes of one stream of a task, attempt after attempt, until there can be no other: from the latest on,
 * or the first if there is none yet.
 */
export async function* followTask(
  target: Target,
  run: string,
  { tail, tailLines, ...wish }: LogWish,
): AsyncGenerator<Uint8Array> {
  const end = { ...(tail === undefined ? {} : { tail }), ...(tailLines === undefined ? {} : { tailLines }) };
  let attempt = yield* readLog(target, run, { ...wish, ...end });
  for (;;) {
    attempt = await nextAttempt(target, run, wish, attempt);
    if (attempt === undefined) return;
    yield* readLog(target, run, { ...wish, attempt });
  }
}

/**
 * The attempt after this one, once there is one; undefined if its task is dead. Without a name it is the
 * first: its log was asked for before there was any.
 */
async function nextAttempt(
  target: Target,
  run: string,
  { task, signal, unreachableMs = DEFAULT_UNREACHABLE_MS }: LogWish,
  last: string | undefined,
): Promise<string | undefined> {
  const patience = { unreachableMs, busyMs: unreachableMs };
  const path = { id: run };
  for (;;) {
    const { names, isOver, seen } = await attemptsOf(target, run, task, { patience, signal });
    // Of very many only the latest are kept: after one that is not, it is the oldest of them.
    const next = names[last === undefined ? 1 : names.indexOf(last) + 1];
    if (next !== undefined) return next;
    if (isOver) return undefined;
    const query = { after: String(seen) };
    await ask(target, "listRunEvents", { path, query }, { patience, signal, waitMs: WAIT_MS });
  }
}
