// Has every pool answered to a question that was asked of all of them (api.md#query-service)?
import { printable } from "../terminal/text.ts";

/** The part of an answer that says which pools are in it. */
export interface PartialAnswer {
  service?: readonly { pool: string; initialized: boolean; healthy: boolean; error?: string | undefined }[];
}

/** The first pool that has not answered, and why; undefined: all have. One that is being made has nothing. */
export function silentPool({ service = [] }: PartialAnswer): string | undefined {
  const silent = service.find(({ initialized, healthy }) => initialized && !healthy);
  return (
    silent && `the pool ${printable(silent.pool)} does not answer: ${printable(silent.error ?? "no reason")}`
  );
}
