import { DroverError } from "../../../shared/errors.ts";
import { MAX_ASKS_REMEMBERED } from "../../../shared/limits.ts";
import type { AllocationRecord, Ask } from "../state.ts";

/**
 * Whether this has been asked for, and done (api.md#idempotency). The run remembers the latest
 * `MAX_ASKS_REMEMBERED` keys. Throws `idempotency_mismatch` for a key that was used to ask for something
 * else.
 */
export function isRepeated({ asks = [] }: AllocationRecord, ask: Ask | undefined): boolean {
  const before = asks.find(({ key }) => key === ask?.key);
  if (before !== undefined && before.hash !== ask?.hash) {
    const text = "this Idempotency-Key was used before to ask this run for something else; use a new key";
    throw new DroverError("idempotency_mismatch", text);
  }
  return before !== undefined;
}

/** What was asked for is done: the same is not done again. */
export function withAsk(record: AllocationRecord, ask: Ask | undefined): AllocationRecord {
  if (ask === undefined) return record;
  return { ...record, asks: [...(record.asks ?? []), ask].slice(-MAX_ASKS_REMEMBERED) };
}
