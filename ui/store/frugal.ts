// Does the page hold a stream, or ask seldom? `?refresh=60` asks each minute, so that pools may sleep.
import { effect, signal } from "@preact/signals";
import { place } from "../router/place.ts";

const KEY = "refresh";
/** Who wants news faster than this is served better, and not dearer, by the stream. */
const LEAST_SECONDS = 10;
const MOST_SECONDS = 3_600;

/** The pause between two looks in milliseconds; undefined: the page is live (ui.md#frugal). */
export const frugalMs = signal<number | undefined>(msOf(sessionStorage.getItem(KEY)));

/** The pause that a text in seconds means. `0` and what is no number mean none. */
function msOf(text: string | null): number | undefined {
  const seconds = Number(text ?? 0);
  if (!(seconds > 0)) return undefined;
  return Math.min(MOST_SECONDS, Math.max(LEAST_SECONDS, seconds)) * 1_000;
}

/** Follows the address. What it has said once holds for this tab, so that links need not repeat it. */
export function startFrugal(): void {
  effect(() => {
    const text = place.value.query.get(KEY);
    if (text === null) return;
    frugalMs.value = msOf(text);
    sessionStorage.setItem(KEY, text);
  });
}
