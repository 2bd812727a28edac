// What can run a batch of trivial commands, and be compared with Drover?

/** How many commands run at once: as many as two machines of Drover with four vCPUs each hold. */
export const AT_ONCE = 8;

/** Something that is ready to run batches. */
export interface Contender {
  name: string;
  /** Runs `true` so many times, and resolves with the seconds until all have ended. */
  run(count: number): Promise<number>;
  stop(): Promise<void>;
}

/** A program that people would use instead of Drover. Drover never installs it. */
export interface Peer {
  name: string;
  /** Says how to install what is missing, or undefined if nothing is. */
  missing(): string | undefined;
  /** Starts its servers on 127.0.0.1, with their state below `dir`. */
  start(dir: string): Promise<Contender>;
}

/** Runs `act` so many times, `atOnce` at a time, and resolves with the seconds that it took. */
export async function secondsOf(count: number, atOnce: number, act: () => Promise<unknown>): Promise<number> {
  let left = count;
  const one = async () => {
    for (; left > 0; ) {
      left -= 1;
      await act();
    }
  };
  const beganAt = performance.now();
  await Promise.all(Array.from({ length: atOnce }, one));
  return (performance.now() - beganAt) / 1_000;
}
