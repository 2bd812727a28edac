// Was this request to a run made before, with the same `Idempotency-Key`?
import { DroverError } from "../../../shared/errors.ts";
import type { RunDraft } from "../draft.ts";
import type { AllocationRecord, RequestKey } from "../state.ts";

/** How many restarts and signals a run remembers by their `Idempotency-Key`. */
export const MAX_ASKS_REMEMBERED = 32;

/**
 * Whether the request was carried out before (api.md#idempotency). A run remembers the keys of its latest
 * `MAX_ASKS_REMEMBERED` requests. Throws `idempotency_mismatch` for a key that was used for another request.
 */
export function isRepeated({ asks }: AllocationRecord, ask: RequestKey | undefined): boolean {
  const before = asks.find(({ key }) => key === ask?.key);
  if (before !== undefined && before.hash !== ask?.hash) {
    const text = "this Idempotency-Key was used before for another request to this run; use a new key";
    throw new DroverError("idempotency_mismatch", text);
  }
  return before !== undefined;
}

/**
 * Carries out a request, unless it was carried out before. `step` returns whether the request is accepted.
 */
export function once(run: RunDraft, ask: RequestKey | undefined, step: () => boolean): void {
  if (isRepeated(run.record, ask) || !step() || ask === undefined) return;
  run.set({ asks: [...run.record.asks, ask].slice(-MAX_ASKS_REMEMBERED) });
}
