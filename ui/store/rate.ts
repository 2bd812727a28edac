// How often does a list ask again while much changes? A number that follows another one, but not so fast.
import { type ReadonlySignal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { isVisible } from "./clock.ts";

/** While somebody looks, a list that changes is asked for at most this often (ui.md#d13). */
const LIST_MS = 2_000;

/** A number that grows after `source` has, at most once in `everyMs`, and only while the page is visible. */
export function useRate(source: ReadonlySignal<number>, everyMs = LIST_MS): number {
  const slow = useMemo(() => signal(0), []);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let seen = source.peek();
    const note = () => {
      timer = undefined;
      if (source.peek() === seen || !isVisible.peek()) return;
      seen = source.peek();
      slow.value += 1;
      timer = setTimeout(note, everyMs);
    };
    const wake = () => {
      timer ??= setTimeout(note, FIRST_MS);
    };
    const stops = [source.subscribe(wake), isVisible.subscribe(wake)];
    return () => {
      clearTimeout(timer);
      for (const stop of stops) stop();
    };
  }, [source, everyMs]);
  return slow.value;
}

/** Changes come in groups: the first of a group waits for the others. */
const FIRST_MS = 100;
