/**
 * What a record has under a name that somebody else has chosen: names such as `constructor` stand for nothing
 * that the record was not given.
 */
export function ownValue<Value>(record: Record<string, Value> | undefined, name: string): Value | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}
