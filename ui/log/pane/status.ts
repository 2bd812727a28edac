// What does a view of output do now, and how does it say so?
import { formatSize } from "../../../src/shared/size.ts";
import { wordsOf } from "../../parts/problem.tsx";

/** What a view of output does. */
export type PaneStatus =
  | { is: "opening" }
  /** Lines are looked for whose numbers a link names. */
  | { is: "counting"; line: number; searched: number }
  /** Output appears as it comes. */
  | { is: "live" }
  /** The connection broke. `at`: the byte at which reading goes on; undefined: of both streams. */
  | { is: "resuming"; at: number | undefined; error: unknown }
  /** The page is hidden. */
  | { is: "paused" }
  /** There may be more, which is read when somebody scrolls there. */
  | { is: "held" }
  /** All of it has been read, and no more can come. */
  | { is: "ended" }
  | { is: "failed"; error: unknown };

/** The status in words. */
export function statusText(status: PaneStatus): string {
  switch (status.is) {
    case "opening":
      return "Opening…";
    case "counting":
      return `Looking for line ${status.line}: ${formatSize(status.searched)} counted…`;
    case "live":
      return "Live: output appears as it comes.";
    case "resuming":
      return `Resuming ${placeText(status.at)}. ${wordsOf(status.error).what}`;
    case "paused":
      return "Paused while the page is hidden.";
    case "held":
      return "A part of the output: the rest is read as you scroll.";
    case "ended":
      return "This output is complete.";
    case "failed":
      return wordsOf(status.error).what;
  }
}

function placeText(at: number | undefined): string {
  return at === undefined ? "where both streams broke off" : `at byte ${at}`;
}
