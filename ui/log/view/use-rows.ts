// Where do the visible rows stand, and how do the scroll bar, wheels and keys move them (ui.md#log-rows)?
import { useSignal } from "@preact/signals";
import type { TargetedEvent } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { documentRows } from "../bytes/document.ts";
import { anchorOf } from "../bytes/position.ts";
import type { LogPane } from "../pane/log-pane.ts";
import {
  type Anchor,
  anchorAt,
  contentPx,
  type Extent,
  isProportional,
  movedBy,
  ROW_PX,
  rowsAround,
  settled,
} from "../scroll.ts";

/** More is read when fewer rows than this are left above or below. */
const NEAR_ROWS = 200;

/** What has rows, and is moved through them. */
export type RowsPane = Pick<
  LogPane,
  "document" | "position" | "drawn" | "moveTo" | "reachedEnd" | "loadEarlier" | "loadLater"
>;

/** Keeps the rows of a pane in their places. Returns which rows to draw, and what the elements need. */
export function useRows(pane: RowsPane) {
  const bar = useRef<HTMLDivElement>(null);
  const space = useRef<HTMLDivElement>(null);
  const view = useRef<HTMLDivElement>(null);
  const box = useRef<HTMLDivElement>(null);
  /** What the bar was set to: an event at this position is our own. */
  const setTo = useRef(0);
  const shown = useRef<Anchor>({ row: 0, y: 0 });
  const viewPx = useSignal(0);
  const document = pane.document.value;
  const extent: Extent = { rows: documentRows(document), viewPx: viewPx.value };
  const anchor = anchorOf(document, pane.position.value, extent);
  const range = rowsAround(anchor, extent);

  useEffect(() => {
    const element = view.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => {
      viewPx.value = element.clientHeight;
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [viewPx]);

  useLayoutEffect(() => {
    if (bar.current === null || space.current === null || box.current === null) return;
    if (extent.viewPx === 0) return;
    const heights = [...box.current.children].map((row) => row.getBoundingClientRect().height);
    const now = settled(anchor, { from: range.from, heights }, extent);
    const drawnPx = heights.reduce((sum, height) => sum + height, 0);
    shown.current = now.anchor;
    pane.drawn = range;
    box.current.style.transform = `translateY(${now.top}px)`;
    space.current.style.height = `${Math.max(extent.viewPx, contentPx(extent, drawnPx))}px`;
    if (Math.abs(bar.current.scrollTop - now.scrollTop) >= 1) bar.current.scrollTop = now.scrollTop;
    setTo.current = bar.current.scrollTop;
    const wanted = rowsAround(now.anchor, extent);
    const isShort = wanted.from < range.from || wanted.to > range.to;
    if (isShort && pane.position.peek().is === "at") pane.moveTo(now.anchor);
    if (range.from < NEAR_ROWS) pane.loadEarlier();
    if (range.to > extent.rows - NEAR_ROWS) pane.loadLater();
  });

  const move = (pixels: number) => pane.moveTo(movedBy(shown.current, pixels));
  const onScroll = ({ currentTarget }: TargetedEvent<HTMLDivElement>) => {
    const { scrollTop, scrollHeight, clientHeight } = currentTarget;
    if (Math.abs(scrollTop - setTo.current) < 1) return;
    // The window has another size now: the browser has moved the bar, and nobody has scrolled.
    if (view.current?.clientHeight !== extent.viewPx) return;
    setTo.current = scrollTop;
    const next = anchorAt(scrollTop, extent);
    if (scrollTop >= scrollHeight - clientHeight - 1) pane.reachedEnd(next);
    else pane.moveTo(next);
  };
  // Where the bar is too coarse, wheels and keys move by pixels all the same.
  const onWheel = (event: WheelEvent) => {
    if (!isProportional(extent) || event.ctrlKey || event.deltaY === 0) return;
    event.preventDefault();
    move(event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? event.deltaY : event.deltaY * ROW_PX);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const pixels = stepOf(event.key, extent.viewPx);
    if (!isProportional(extent) || pixels === undefined) return;
    event.preventDefault();
    move(pixels);
  };
  return { document, range, refs: { bar, space, view, box }, handlers: { onScroll, onWheel, onKeyDown } };
}

function stepOf(key: string, viewPx: number): number | undefined {
  switch (key) {
    case "ArrowUp":
      return -ROW_PX;
    case "ArrowDown":
      return ROW_PX;
    case "PageUp":
      return ROW_PX - viewPx;
    case "PageDown":
      return viewPx - ROW_PX;
    default:
      return undefined;
  }
}
