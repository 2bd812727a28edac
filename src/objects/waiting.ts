/** Resolves after so many milliseconds. */
export function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** What can be watched: an actor, or whatever else calls its listeners when something has changed. */
interface Watchable {
  watch(listener: () => void): () => void;
}

/**
 * Resolves as soon as `holds`, or after `waitMs`; what it resolves to is whether it held. Nothing is polled: it looks
 * again when something has changed.
 */
export async function until(source: Watchable, holds: () => boolean, waitMs: number): Promise<boolean> {
  if (holds()) return true;
  if (waitMs <= 0) return false;
  return new Promise((resolve) => {
    const finish = (held: boolean) => {
      clearTimeout(timer);
      unwatch();
      resolve(held);
    };
    const timer = setTimeout(() => finish(holds()), waitMs);
    const unwatch = source.watch(() => {
      if (holds()) finish(true);
    });
  });
}
