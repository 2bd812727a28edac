// How many billed operations has this isolate made?
/**
 * Rows written (each `setAlarm` is one), and requests to objects, counted where they happen because `kv.put`
 * reports no row count. Counted since the isolate started: production and tests compare two readings
 * (budgets.md#budgets).
 */
export const meter = { rowsWritten: 0, requests: 0 };
