// What are people told about the tries of a run, and about a parked one?
import type { RunStatus } from "../../../client/types.ts";
import { money } from "../../../src/shared/cloud/money.ts";
import { CAUSE_WORDS } from "../../../src/shared/retry/causes.ts";
import { formatSize } from "../../../src/shared/size.ts";
import { colorsFor, type Io } from "../../terminal/io.ts";
import { printable } from "../../terminal/text.ts";

type Tries = NonNullable<RunStatus["retries"]>;

/** The fields of `drover status` about tries; with empty texts where there is nothing to say. */
export function triesFields({ retries, parked, redriven }: RunStatus): [string, string][] {
  return [
    ["Try", retries === undefined || retries.items.length < 2 ? "" : tryText(retries)],
    ["Parked", parked === undefined ? "" : `since ${parked.since}, ${parked.reason} (drover redrive)`],
    ["Redriven", redriven === undefined ? "" : `as ${redriven.run}, by ${redriven.by} at ${redriven.at}`],
  ];
}

function tryText({ try: present, of, nextAt }: Tries): string {
  return `${present} of ${of}${nextAt === null ? "" : `, from ${nextAt} on`}`;
}

/** A line for each try, if there were several. */
export function triesView({ retries }: RunStatus, io: Io): string {
  if (retries === undefined || retries.items.length < 2) return "";
  const { bold } = colorsFor(io.stdout);
  return `\n${bold("Tries")}:\n${retries.items.map(lineOf).join("")}`;
}

function lineOf({
  try: n,
  cause,
  text,
  worker,
  memoryBytes,
  perHour,
  ...own
}: Tries["items"][number]): string {
  const price = perHour === null ? "" : `, ${money(perHour)} per hour`;
  const machine = own.onDemand ? ", on demand" : "";
  const where = worker === null ? "" : ` on ${worker}`;
  const how = cause === null ? "" : `: ${CAUSE_WORDS[cause]}, ${text}`;
  return `  ${printable(`try ${n}${where}, ${formatSize(memoryBytes)}${machine}${price}${how}`)}\n`;
}
