import type { Machine } from "../../src/shared/machine.ts";

/**
 * The same machine, which finds out only once a step when it wants to wake: its shell and the check of its
 * invariants both ask, before and after the step is stored. Only for machines whose answer needs no table.
 */
export function wakesOnceAStep<State, Event, Message>(
  machine: Machine<State, Event, Message>,
): Machine<State, Event, Message> {
  let known: { of: State; at: number | undefined } | undefined;
  return {
    ...machine,
    apply(state, event, now) {
      known = undefined;
      return machine.apply(state, event, now);
    },
    wakeAt(state) {
      if (known?.of !== state) known = { of: state, at: machine.wakeAt(state) };
      return known.at;
    },
  };
}
