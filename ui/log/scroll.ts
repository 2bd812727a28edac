// Which rows are visible at a position of the scroll bar, and which position belongs to visible rows?

/** The least height of a row. A row that wraps is higher. */
export const ROW_PX = 20;
/**
 * The greatest height of what scrolls. Browsers limit an element to about 17.9 million (Firefox) or 33.5
 * million pixels (Chromium).
 */
export const MAX_CONTENT_PX = 15_000_000;
/** Rows beyond the visible ones that are drawn, too. */
const SPARE_ROWS = 2;

/** A point of the text, and where it stands in the view. */
export interface Anchor {
  /** A row, and the part of its height above the point; the number of rows for the end of the text. */
  row: number;
  /** Its distance from the upper edge of the view, in pixels. */
  y: number;
}

/** The size of what is shown. */
export interface Extent {
  rows: number;
  viewPx: number;
}

/** The height of what scrolls: that of all rows, up to the limit. `drawnPx`: the height of all drawn rows. */
export function contentPx(extent: Extent, drawnPx = 0): number {
  return areFew(extent) ? drawnPx : Math.min(extent.rows * ROW_PX, MAX_CONTENT_PX);
}

/** Whether the scroll bar cannot tell each pixel apart any more. */
export function isProportional({ rows }: Extent): boolean {
  return rows * ROW_PX > MAX_CONTENT_PX;
}

/** The anchor at the end of the text. */
export function endAnchor({ rows, viewPx }: Extent): Anchor {
  return { row: rows, y: viewPx };
}

/**
 * The anchor at a position of the scroll bar (ui.md#log-rows). The part of the way that the bar has gone is
 * the part of the text that is above the anchor, and the part of the view above it: so both ends can be
 * reached, whatever the heights of rows are. If all rows have the least height, this is what browsers do.
 */
export function anchorAt(scrollTop: number, extent: Extent): Anchor {
  if (areFew(extent)) return { row: 0, y: -scrollTop };
  const way = contentPx(extent) - extent.viewPx;
  const share = Math.min(1, Math.max(0, scrollTop / way));
  return { row: share * extent.rows, y: share * extent.viewPx };
}

/** The rows to draw around an anchor: `from` up to `to`. */
export function rowsAround({ row, y }: Anchor, extent: Extent): { from: number; to: number } {
  const { rows, viewPx } = extent;
  if (areFew(extent)) return { from: 0, to: rows };
  const middle = Math.floor(row);
  const before = Math.ceil(y / ROW_PX) + SPARE_ROWS;
  const after = Math.ceil((viewPx - y) / ROW_PX) + SPARE_ROWS + 1;
  return { from: Math.max(0, middle - before), to: Math.min(rows, middle + after) };
}

/** Rows that are drawn, with their heights. */
export interface Drawn {
  from: number;
  heights: readonly number[];
}

/** Where drawn rows stand, once their heights are known. */
export interface Settled {
  /** The same place by the anchor that `anchorAt` would have. */
  anchor: Anchor;
  /** The position of the scroll bar. */
  scrollTop: number;
  /** Where the first drawn row begins in the view. */
  top: number;
}

/**
 * Where rows stand that were drawn around an anchor. The anchor stays where it is, unless the text would
 * begin below the upper edge of the view, or end above the lower one.
 */
export function settled(anchor: Anchor, drawn: Drawn, extent: Extent): Settled {
  const { rows, viewPx } = extent;
  const first = anchor.y - pixelsTo(drawn, anchor.row);
  if (areFew(extent)) {
    const top = Math.min(0, Math.max(first, viewPx - sumOf(drawn.heights)));
    return { anchor: { row: 0, y: top }, scrollTop: Math.abs(top), top };
  }
  // How far below its place by the scroll bar each row begins: this grows with the rows.
  const offBy = (row: number, top: number) => top - (viewPx * row) / rows;
  let row = drawn.from;
  let top = first;
  let found = row === 0 ? 0 : row;
  for (const height of drawn.heights) {
    const here = offBy(row, top);
    const next = offBy(row + 1, top + height);
    if (here <= 0) found = next > 0 ? row - here / (next - here) : row + 1;
    row += 1;
    top += height;
  }
  const point: Anchor = { row: found, y: (viewPx * found) / rows };
  const way = contentPx(extent) - viewPx;
  return { anchor: point, scrollTop: (way * found) / rows, top: point.y - pixelsTo(drawn, found) };
}

/** The anchor after the text was moved up by so many pixels, for wheels and keys. */
export function movedBy({ row, y }: Anchor, pixels: number): Anchor {
  return { row, y: y - pixels };
}

/** Whether the rows, without those that wrap, fill no more than the view. Then all of them are drawn. */
function areFew({ rows, viewPx }: Extent): boolean {
  return rows * ROW_PX <= viewPx;
}

/** The pixels from the first drawn row to a row, with its fraction. */
function pixelsTo({ from, heights }: Drawn, row: number): number {
  let pixels = 0;
  for (let i = from; i < row; i++) {
    const height = heights[i - from] ?? ROW_PX;
    pixels += height * Math.min(1, row - i);
  }
  return pixels;
}

function sumOf(heights: readonly number[]): number {
  return heights.reduce((sum, height) => sum + height, 0);
}
