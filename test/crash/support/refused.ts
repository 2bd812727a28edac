import type { Json } from "../../edge/support/edge.ts";

// A worker that has not heard its machine for a while refuses a run, which is then placed again under the
// next epoch (workers.md#report-6). On a busy machine that can happen to any run, and starts nothing.

/** The placements of a run that its worker did not refuse. */
export function acceptedOf({ placements }: Json): Json[] {
  return placements.filter(({ outcome }: Json) => outcome !== "refused");
}

/** The text with the attempts numbered as if no worker had refused the run: `main/2.1` is then `main/1.1`. */
export function asIfAccepted({ placements }: Json, text: string): string {
  const refusals = placements.filter(({ outcome }: Json) => outcome === "refused").length;
  return text.replace(/(?<=\/)\d+(?=\.\d)/, (epoch) => String(Number(epoch) - refusals));
}

/** The events without those of placements that a worker refused. */
export function eventsAsIfAccepted(items: Json[]): Json[] {
  const refused = items
    .filter(({ details }) => details?.how === "refused")
    .map(({ details }) => details.epoch);
  const isOfRefused = ({ type, details }: Json) =>
    ["Placed", "Placement Ended"].includes(type) && refused.includes(details.epoch);
  return items.filter((item) => !isOfRefused(item));
}
