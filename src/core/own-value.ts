// How is a record read by a name that a user has chosen?
/** The record's own value under `name`: names such as `constructor` find nothing inherited. */
export function ownValue<Value>(record: Record<string, Value> | undefined, name: string): Value | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}
