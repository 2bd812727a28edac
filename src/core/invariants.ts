// What does an invariant apply to: a record, or each row that a step has changed?
import type { Instant, Invariant } from "../shared/machine.ts";
import type { Rows } from "./rows.ts";

/** An invariant that compares a record before and after a step. Checked if the step changes the record. */
export function ofRecord<Stored>(
  rule: string,
  broken: (before: Stored, after: Stored, now: Instant) => string | undefined,
): Invariant<{ record: Stored | null }> {
  return {
    rule,
    broken: ({ record: before }, { record: after }, now) =>
      before === null || after === null || before === after ? undefined : broken(before, after, now),
  };
}

/** An invariant of each row that the step has changed. `before` is undefined for a new row. */
export function ofRows<State, Row>(
  rule: string,
  rowsOf: (state: State) => Rows<Row>,
  broken: (before: Row | undefined, after: Row, state: State) => string | undefined,
): Invariant<State> {
  return {
    rule,
    broken(_before, state) {
      for (const { key, before, after } of rowsOf(state).changes()) {
        const what = broken(before, after, state);
        if (what !== undefined) return `${key}: ${what}`;
      }
      return undefined;
    },
  };
}

/** Checks that these fields never shrink. */
export function grows<Field extends string>(...fields: Field[]) {
  return (before: Record<Field, number> | undefined, after: Record<Field, number>): string | undefined => {
    const less = fields.find((field) => before !== undefined && after[field] < before[field]);
    return less && `${less} ${after[less]} follows ${before?.[less]}`;
  };
}
