// How is a tick shown? Relative to now, with the local time of its zone and UTC on hover.
import type { JobTick } from "../../../src/generated/api.ts";
import { relative, utc } from "../../parts/time.tsx";
import { now } from "../../store/clock.ts";
import { localWords } from "./local.ts";

/** The time of a tick. */
export function TickTime({ tick: { at, local }, zone }: { tick: JobTick; zone: string }) {
  return (
    <time dateTime={at} title={`${localWords(local)} in ${zone}, ${utc(at)}`}>
      {relative(Date.parse(at), now.value)}
    </time>
  );
}
