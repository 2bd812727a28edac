/** So many steps are planned at once: a turn of the event loop costs more than most of them. */
const AT_ONCE = 64;

/**
 * Calls `step` now, and again and again until it returns false, each time when all has happened that follows
 * from the previous call at once. Rejects with what `step` throws.
 */
export function drive(step: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    const turn = () => {
      if (isOver) return;
      try {
        isOver = !step();
        if (isOver) resolve();
      } catch (error) {
        isOver = true;
        reject(error);
      }
    };
    // Between two of these Node runs all that is ready, like at the end of a turn.
    const plan = () => {
      if (isOver) return;
      for (let n = 0; n < AT_ONCE; n += 1) setImmediate(turn);
      setImmediate(plan);
    };
    turn();
    plan();
  });
}
