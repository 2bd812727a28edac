// What does somebody look for, and how does the address say it (ui.md#d15)?
import { type Needle, needleOf } from "./needle.ts";
import { patternOf } from "./pattern.ts";

/** What is looked for. */
export interface Wanted {
  /** Empty: nothing. */
  text: string;
  /** The text is a regular expression. */
  isPattern: boolean;
  matchCase: boolean;
}

/** What an address looks for: `find=warn%5Cd%2B&regex=1&case=1`. */
export function wantedIn(query: URLSearchParams): Wanted {
  return {
    text: query.get("find") ?? "",
    isPattern: query.get("regex") === "1",
    matchCase: query.get("case") === "1",
  };
}

/**
 * What an address has for a search. A place that it named before is left, since the reader goes to a hit.
 */
export function changesFor({ text, isPattern, matchCase }: Wanted): Record<string, string | undefined> {
  const on = (isOn: boolean) => (isOn && text !== "" ? "1" : undefined);
  return { tab: "log", find: text, regex: on(isPattern), case: on(matchCase), b: undefined, l: undefined };
}

/** Whether both look for the same. */
export function isSame(one: Wanted, other: Wanted): boolean {
  return one.text === other.text && one.isPattern === other.isPattern && one.matchCase === other.matchCase;
}

/** The search for it. Throws `SyntaxError` if it is no regular expression. */
export function needleFor({ text, isPattern, matchCase }: Wanted): Needle {
  return isPattern ? patternOf(text, { matchCase }) : needleOf(text, { matchCase });
}
