// How wide is an element? Pictures are drawn for this many pixels.
import { type ReadonlySignal, signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useMemo } from "preact/hooks";

/** The width of the element in pixels; 0 until it is known. */
export function useWidth(element: RefObject<HTMLElement | null>): ReadonlySignal<number> {
  const width = useMemo(() => signal(0), []);
  useEffect(() => {
    if (element.current === null) return;
    const observer = new ResizeObserver(([entry]) => {
      width.value = Math.floor(entry?.contentRect.width ?? 0);
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return width;
}
