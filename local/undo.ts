// How is a start that fails half-way undone?

type Step = () => unknown;

/** Steps that undo what was done, run in reverse order. */
export interface Undo {
  add(step: Step): void;
  /** Runs every step, even if another fails; then throws the first failure. A second call does nothing. */
  run(): Promise<void>;
}

/** An undo without steps. */
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
