// How many billed operations has this isolate made?
/**
 * Rows written (each `setAlarm` counts as one row), how many of them set an alarm, commits, and requests to
 * objects, since the isolate started. They are counted where they happen, because `kv.put` reports no row
 * count. Production and tests compare two readings (budgets.md#budgets).
 */
export const meter = { rowsWritten: 0, alarmsSet: 0, commits: 0, requests: 0 };
