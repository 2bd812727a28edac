// Which rows does a question want, as a condition in SQL?
import type { RowSort } from "../../core/rows.ts";

/** A filter: the field (a JSON path) must have one of these texts; null: none. */
interface FieldFilter {
  field: string;
  values: readonly (string | null)[];
}

/** A filter as a condition in SQL on the columns `k` and `v`, with its bound values. */
interface Condition {
  where: string;
  bound: readonly (string | number)[];
}

/** A filter of a table's rows. */
export type RowFilter = FieldFilter | Condition;

/** The condition that a row meets which a filter lets through. */
export function conditionOf(filter: RowFilter): Condition {
  if ("where" in filter) return filter;
  const { field, values } = filter;
  // In SQL nothing equals NULL, so an absent value is compared as an empty text, which no value is.
  const where = `ifnull(json_extract(v, ?), '') IN (${values.map(() => "?")})`;
  return { where, bound: [field, ...values.map((value) => value ?? "")] };
}

/** The condition that a row of this sort meets. Absent: all rows do. */
export function ofSort(sort?: RowSort): Condition {
  if (sort === undefined) return { where: "1", bound: [] };
  const { field, values, others } = sort;
  const among = `json_extract(v, ?) ${others ? "NOT IN" : "IN"} (${values.map(() => "?")})`;
  return { where: among, bound: [`$.${field}`, ...values] };
}
