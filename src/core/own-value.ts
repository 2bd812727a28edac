// How is a value looked up by a name that a user has chosen?
/** The record's own value under `name`. Names such as `constructor` do not find inherited properties. */
export function ownValue<Value>(record: Record<string, Value> | undefined, name: string): Value | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}
