// What does a pool say of a run that awaits the ends of arrays (`drover why`)?
import type { Why } from "../../../schema/why.ts";
import { nextBy } from "../../next.ts";
import type { ReadonlyConfigured } from "../state.ts";
import type { ReadonlyMembers } from "./members.ts";

/** How far the arrays are that a run awaits. Null: it awaits none. */
export function whyAwaitsArrays({ memo }: ReadonlyConfigured, run: string): Why | null {
  const row = [...memo.index.deferred.values()].find((one) => one.run === run);
  if (row?.awaitsArrays === undefined) return null;
  const texts = row.awaitsArrays.map(
    ({ array }) => `array "${array}": ${progressText(memo.index.arrays.membersFor(row, array))}`,
  );
  const next = nextBy("place", "tell it once what it awaits has ended", "command");
  return { state: "pending", reason: { code: "awaiting", text: texts.join("; ") }, next, chain: [] };
}

function progressText({ size, counts, missing }: ReadonlyMembers): string {
  const parts = [
    `${counts.well} of ${size} ended well`,
    ...(counts.failed > 0 ? [`${counts.failed} failed`] : []),
    ...(counts.stopped > 0 ? [`${counts.stopped} aborted`] : []),
    ...(missing > 0 ? [`${missing} deleted`] : []),
    ...(counts.live > 0 ? [`${counts.live} ${counts.live === 1 ? "goes" : "go"} on`] : []),
  ];
  return parts.join(", ");
}
