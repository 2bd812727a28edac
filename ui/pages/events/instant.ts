// Which instant does a reader mean by `1h` or `2026-11-27 16:00` (ui.md#events)?
import { parseDuration } from "../../../src/shared/duration.ts";

const DAY_AND_TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(?:\.\d+)?)? ?(?:Z|UTC)?$/;

/**
 * The instant that a reader means, in UTC: `1h` is an hour ago; a day or a time is as tables show it. What is
 * neither stays as it is, for the server to refuse with the reason.
 */
export function instantOf(text: string, nowMs: number): string {
  const ago = parseDuration(text);
  if (ago !== undefined) return new Date(nowMs - ago).toISOString();
  const [, day, time = "00:00", seconds = ":00"] = DAY_AND_TIME.exec(text) ?? [];
  return day === undefined ? text : `${day}T${time}${seconds}Z`;
}
