// How is it put into words why a run or a worker is in its state, and what happens next?
import type { Why } from "../../client/types.ts";
import { briefDuration } from "./text.ts";

/** The state of a run or a worker, why it is in it, and what happens next, as names and values. */
export function whyFields(id: string, why: Why, now: number): [string, string][] {
  const { code, text, ...details } = why.reason;
  // Only runs have this code, so the hint names `drover abort`.
  const hurry = code === "stopping" ? `to end it at once: drover abort --force ${id}` : "";
  const facts = Object.entries(details).map(([name, value]) => `${name} ${value}`);
  return [
    ["State", why.state],
    ["Why", `${text} (${code})`],
    ["", facts.join(", ")],
    ["Next", nextLine(why.next, now)],
    ["", hurry],
    ...why.chain.map(({ what, state, text: link }): [string, string] => [what, `${state}: ${link}`]),
  ];
}

function nextLine(next: Why["next"], now: number): string {
  if (next.at === null) return next.action;
  const ms = Date.parse(next.at) - now;
  return `${next.action} (${ms > 0 ? `in ${briefDuration(ms)}` : "now"}, at ${next.at})`;
}
