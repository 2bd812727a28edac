// When does a view of output ask for the numbers of its lines?
import { effect, signal } from "@preact/signals";
import { isTemporary } from "../../api/temporary.ts";
import { type Section, withCount } from "../bytes/document.ts";
import type { NewlineCount } from "../bytes/window.ts";
import { newlineCount } from "../read/line-numbers.ts";
import { pauseIn } from "../read/pause.ts";
import type { LogPane } from "./log-pane.ts";

/**
 * Numbers the lines of a pane once their bytes are shown (ui.md#log-rows). Until then, and where the host has
 * not counted, they have no numbers. Returns what ends this.
 */
export function numberLines(pane: LogPane): () => void {
  const reading = new AbortController();
  const isAsking = signal(false);
  const hopeless = new Set<string>();
  let failures = 0;
  const isUnknown = ({ attempt, window }: Section) => {
    return window.newlinesBefore === undefined && window.to > window.from && !hopeless.has(attempt);
  };
  const apply = (attempt: string, count: NewlineCount) => {
    pane.document.value = withCount(pane.document.peek(), attempt, count);
    const section = pane.document.peek().sections.find((one) => one.attempt === attempt);
    // The window may have moved on meanwhile: then the next question is about where it is now.
    const isAbout = section !== undefined && count.at >= section.window.from && count.at <= section.window.to;
    if (isAbout && isUnknown(section)) hopeless.add(attempt);
  };
  const number = async ({ attempt, window }: Section) => {
    try {
      const count = await newlineCount(pane.nameOf(attempt), window, reading.signal);
      failures = 0;
      if (reading.signal.aborted) return;
      if (count === undefined) hopeless.add(attempt);
      else apply(attempt, count);
    } catch (error) {
      if (reading.signal.aborted) return;
      failures += 1;
      if (isTemporary(error)) await pauseIn(reading.signal)(failures);
      else hopeless.add(attempt);
    } finally {
      isAsking.value = false;
    }
  };
  const stop = effect(() => {
    const section = pane.document.value.sections.find(isUnknown);
    if (isAsking.value || section === undefined) return;
    isAsking.value = true;
    void number(section);
  });
  return () => {
    stop();
    reading.abort();
  };
}
