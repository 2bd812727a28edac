// What time is it for the reader? One tick a second, while somebody can see it.
import { signal } from "@preact/signals";

/** Milliseconds since 1970. Components that read it are drawn each second. */
export const now = signal(Date.now());

/** Whether somebody can see the page. */
export const isVisible = signal(document.visibilityState === "visible");

const TICK_MS = 1_000;

/** Starts the clock. */
export function startClock(): void {
  document.addEventListener("visibilitychange", () => {
    isVisible.value = document.visibilityState === "visible";
    now.value = Date.now();
  });
  setInterval(() => {
    if (isVisible.peek()) now.value = Date.now();
  }, TICK_MS);
}
