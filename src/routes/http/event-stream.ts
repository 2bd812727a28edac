// How does a silent event stream stay open through proxies (api.md#streams)?

/** The longest silence of a stream. Proxies cut streams that are silent for too long (api.md#streams). */
export const KEEP_ALIVE_MS = 15_000;

/** Sends a comment at intervals until all events of a stream are written, however long each read takes. */
export async function keepAlive<Result>(
  stream: { write(text: string): Promise<unknown>; aborted: boolean },
  write: () => Promise<Result>,
  everyMs: number = KEEP_ALIVE_MS,
): Promise<Result> {
  const beat = setInterval(() => {
    if (!stream.aborted) void stream.write(HEARTBEAT);
  }, everyMs);
  try {
    return await write();
  } finally {
    clearInterval(beat);
  }
}

/** A comment, which readers of events ignore. */
export const HEARTBEAT = ": nothing new\n\n";
