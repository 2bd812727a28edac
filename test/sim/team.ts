import { Worker } from "node:worker_threads";

/** A story to tell: what of its options can be said to another thread. */
export interface Tale {
  seed: number;
  steps: number;
  runs: number;
  withinMs: number | undefined;
  looksAtAll: boolean;
}

/** How a story went, and how much of a processor it took. */
export interface Told {
  seed: number;
  steps: number;
  ends: Record<string, number>;
  violation: string | undefined;
  cpuMs: number;
}

/** A young generation of this size is collected so rarely that most of a story's garbage dies in it. */
const YOUNG_MB = 64;

/**
 * Tells one story after another, several at once. It begins another one as long as `next` has one, and ends
 * when all are told that were begun. `hear` is told how each went, in the order in which they end. Rejects if
 * a thread fails.
 */
export async function tellAll(
  threads: number,
  next: () => Tale | undefined,
  hear: (told: Told) => void,
): Promise<void> {
  await Promise.all(Array.from({ length: threads }, () => tellInThread(next, hear)));
}

function tellInThread(next: () => Tale | undefined, hear: (told: Told) => void): Promise<void> {
  const thread = new Worker(new URL("./teller.ts", import.meta.url), {
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
  });
  return new Promise<void>((resolve, reject) => {
    const goOn = () => {
      const tale = next();
      if (tale === undefined) resolve();
      else thread.postMessage(tale);
    };
    thread.on("error", reject);
    thread.on("exit", (code) => reject(new Error(`a thread of the simulator ended with exit code ${code}`)));
    thread.on("message", (told: Told) => {
      hear(told);
      goOn();
    });
    goOn();
  }).finally(() => thread.terminate());
}
