// Which place of a log does a link mean, and how is it written?

/** Bytes or lines of one attempt of a log, as a link names them. */
export type Place =
  | { unit: "bytes"; from: number; to: number }
  /** Lines count from 1, and `to` is the last one. */
  | { unit: "lines"; from: number; to: number };

const BYTES = /^(\d{1,12})-(\d{1,12})$/;
const LINES = /^(\d{1,12})(?:-(\d{1,12}))?$/;

/**
 * The place that a query names (ui.md#d8): `b=10240-10980` has bytes, the second number being the offset
 * after the last one, and `l=120-140` or `l=120` has lines. Undefined if it names none, or one that cannot
 * be.
 */
export function placeIn(query: URLSearchParams): Place | undefined {
  const bytes = BYTES.exec(query.get("b") ?? "");
  if (bytes !== null) {
    const [from, to] = [Number(bytes[1]), Number(bytes[2])];
    return from < to ? { unit: "bytes", from, to } : undefined;
  }
  const lines = LINES.exec(query.get("l") ?? "");
  if (lines === null) return undefined;
  const from = Number(lines[1]);
  const to = lines[2] === undefined ? from : Number(lines[2]);
  return from >= 1 && from <= to ? { unit: "lines", from, to } : undefined;
}

/** The same query with this place, or without a place. */
export function withPlace(query: URLSearchParams, place: Place | undefined): URLSearchParams {
  const changed = new URLSearchParams(query);
  changed.delete("b");
  changed.delete("l");
  if (place?.unit === "bytes") changed.set("b", `${place.from}-${place.to}`);
  if (place?.unit === "lines") changed.set("l", linesText(place.from, place.to));
  return changed;
}

function linesText(from: number, to: number): string {
  return from === to ? String(from) : `${from}-${to}`;
}
