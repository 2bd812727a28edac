/** How long a stream stays silent at most: proxies cut what says nothing for longer (api.md#streams). */
export const KEEP_ALIVE_MS = 15_000;

/**
 * Says by a comment again and again that a stream of events is alive, as long as its events are told: however
 * long a read takes, and however often it brings nothing.
 */
export async function keepAlive<Result>(
  stream: { write(text: string): Promise<unknown>; aborted: boolean },
  tell: () => Promise<Result>,
  everyMs: number = KEEP_ALIVE_MS,
): Promise<Result> {
  const beat = setInterval(() => {
    if (!stream.aborted) void stream.write(NOTHING_NEW);
  }, everyMs);
  try {
    return await tell();
  } finally {
    clearInterval(beat);
  }
}

/** A comment: whoever reads events passes it over. */
export const NOTHING_NEW = ": nothing new\n\n";
