import { check, type Envelope, type Instant, type Machine } from "../../../src/shared/machine.ts";

/** One step of a machine. Throws if it breaks an invariant of the machine, as no step of a test may. */
export function applied<State, Event, Message extends Envelope>(
  machine: Machine<State, Event, Message>,
  before: State,
  event: Event,
  now: Instant,
): State {
  const after = machine.apply(before, event, now);
  const [broken] = check(machine, before, after, now);
  if (broken !== undefined) throw new Error(`${broken.machine} breaks ${broken.rule}: ${broken.what}`);
  return after;
}
