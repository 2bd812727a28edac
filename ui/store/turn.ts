// How does long work leave room for the reader? It pauses after a few milliseconds, for keys and frames.

/** For how long work may go on without a pause: the half of a frame. */
const TURN_MS = 8;

/** The turns of one piece of work. */
export class Turn {
  #endsAt = performance.now() + TURN_MS;

  /** Resolves at once while the turn lasts, and else after what waits for the thread. */
  async ended(): Promise<void> {
    if (performance.now() < this.#endsAt) return;
    await nextTask();
    this.#endsAt = performance.now() + TURN_MS;
  }
}

/** Unlike timers, messages of a hidden page are not put off. */
function nextTask(): Promise<void> {
  return new Promise((done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      done();
    };
    port2.postMessage(null);
  });
}
