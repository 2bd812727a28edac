type Step = () => unknown;

/** What is to be taken back, in reverse order of how it was done. */
export interface Undo {
  add(step: Step): void;
  /**
   * Takes everything back, each step even if another fails; then throws the first failure. A second call does
   * nothing.
   */
  run(): Promise<void>;
}

/** Begins with nothing to take back. */
export function makeUndo(): Undo {
  const steps: Step[] = [];
  return {
    add: (step) => steps.push(step),
    run: async () => {
      const failures: unknown[] = [];
      for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
        try {
          await step();
        } catch (error) {
          failures.push(error);
        }
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}
