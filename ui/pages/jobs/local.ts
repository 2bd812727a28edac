// How are instants shown on the clocks of a schedule's zone?

/** A local time of the API as people read it: `2026-11-22 02:30:00 +01:00`. */
export function localWords(local: string): string {
  const [, date, time, offset] = /^([\d-]+)T([\d:]+)(.*)$/.exec(local) ?? [];
  return offset === undefined ? local : `${date} ${time} ${offset === "Z" ? "UTC" : offset}`;
}

/** An instant to the minute in a zone, by the rules of the browser; in UTC if it does not know the zone. */
export function localTime(at: string, zone: string): string {
  try {
    return timeIn(at, zone);
  } catch {
    return `${timeIn(at, "UTC")} UTC`;
  }
}

function timeIn(at: string, timeZone: string): string {
  // Swedish dates are written as in ISO 8601.
  return new Intl.DateTimeFormat("sv", { dateStyle: "short", timeStyle: "short", timeZone }).format(
    new Date(at),
  );
}
