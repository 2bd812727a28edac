/**
 * What is billed, counted where it happens: rows written (each `setAlarm` is one), and requests to objects.
 * Of this isolate since it started, so production only ever compares two readings; the tests of the budgets
 * do so too (budgets.md#budgets). `kv.put` tells no row count, which is why it is counted by hand.
 */
export const meter = { rowsWritten: 0, requests: 0 };
