// Which pools are there, and which one does the shown page follow?
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { queryOf } from "../router/place.ts";
import { followed } from "./live.ts";

/** The names of all pools, once they are known. */
export const poolNames = signal<readonly string[]>([]);

/** While no pool is followed, lists ask again after this time. */
const POLL_MS = 10_000;

/**
 * Follows the pool that the address chooses, or the only one, while the component is there. Returns how often
 * a list must ask by itself: of several pools none is followed (ui.md#live-data).
 */
export function useChosenPool(): { pool: string; everyMs: number | undefined } {
  const pool = queryOf("pool");
  const [first, second] = poolNames.value;
  const one = pool !== "" ? pool : second === undefined ? first : undefined;
  useFollowed(one);
  return { pool, everyMs: one === undefined && first !== undefined ? POLL_MS : undefined };
}

/** Follows a pool while the component is there; undefined: nothing that it shows can change. */
export function useFollowed(pool: string | undefined): void {
  useEffect(() => {
    followed.value = pool;
    return () => {
      followed.value = undefined;
    };
  }, [pool]);
}
