// What time is it for the reader? One tick a second, while somebody can see it, by the clock of Drover.
import { signal } from "@preact/signals";
import { ServerClock } from "../../client/transport/server-clock.ts";
import { whenAsked } from "../api/send.ts";

const server = new ServerClock();

/** Milliseconds since 1970 at Drover (ui.md#time). Components that read it are drawn each second. */
export const now = signal(server.now());

/** Milliseconds since 1970 at Drover at this moment (ui.md#time). Reading it draws nothing again. */
export function droverNow(): number {
  return server.now();
}

/** Whether somebody can see the page. */
export const isVisible = signal(document.visibilityState === "visible");

const TICK_MS = 1_000;

/** Corrects the clock by the answer to a request: the clock of a reader's machine may be wrong. */
function learnTime(): (answer: Response) => void {
  const learn = server.ask();
  return (answer) => {
    const before = server.now();
    learn(answer);
    if (Math.abs(server.now() - before) >= TICK_MS) now.value = server.now();
  };
}

/** Starts the clock. */
export function startClock(): void {
  whenAsked(learnTime);
  document.addEventListener("visibilitychange", () => {
    isVisible.value = document.visibilityState === "visible";
    now.value = server.now();
  });
  setInterval(() => {
    if (isVisible.peek()) now.value = server.now();
  }, TICK_MS);
}
