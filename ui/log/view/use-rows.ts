// Where do the visible rows stand, and how do the scroll bar, wheels and keys move them (ui.md#log-rows)?
import { batch, useSignal } from "@preact/signals";
import type { TargetedEvent } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { documentBytes, documentRows } from "../bytes/document.ts";
import { anchorOf } from "../bytes/position.ts";
import { MAX_WINDOW_BYTES } from "../bytes/window.ts";
import { NO_FOLDS } from "../fold/groups.ts";
import { shownOf, toDocument, toShown } from "../fold/shown.ts";
import type { LogPane } from "../pane/log-pane.ts";
import type { PaneFolds } from "../pane/pane-folds.ts";
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
/** If folded groups let all that is in memory fit, no more than this is read by itself (ui.md#d6). */
const FOLDED_BYTES = 2 * 1024 * 1024;

/** What has rows, and is moved through them. */
export type RowsPane = Pick<
  LogPane,
  "document" | "position" | "drawn" | "moveTo" | "reachedEnd" | "loadEarlier" | "loadLater"
> & {
  /** Absent: nothing is folded. */
  folds?: PaneFolds;
};

/** Keeps the rows of a pane in their places. Returns which rows to draw, and what the elements need. */
export function useRows(pane: RowsPane) {
  const bar = useRef<HTMLDivElement>(null);
  const space = useRef<HTMLDivElement>(null);
  const view = useRef<HTMLDivElement>(null);
  const box = useRef<HTMLDivElement>(null);
  /** What the bar was set to: an event at this position is our own. In a view of another height, all are. */
  const setTo = useRef({ top: 0, viewPx: 0 });
  const shown = useRef<Anchor>({ row: 0, y: 0 });
  const viewPx = useSignal(0);
  const document = pane.document.value;
  const rows = pane.folds?.shown.value ?? shownOf(documentRows(document), NO_FOLDS);
  const extent: Extent = { rows: rows.count, viewPx: viewPx.value };
  const position = pane.position.value;
  const place = anchorOf(document, position, extent);
  const anchor = position.is === "end" ? place : { ...place, row: toShown(rows, place.row) };
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
    // If the reader has just scrolled, the event is still to come. By then the bar stands in another text.
    const pendingPx = scrolledPx(bar.current, view.current, setTo.current);
    const heights = [...box.current.children].map((row) => row.getBoundingClientRect().height);
    const now = settled(anchor, { from: range.from, heights }, extent);
    const drawnPx = heights.reduce((sum, height) => sum + height, 0);
    shown.current = now.anchor;
    pane.drawn = inDocument(range);
    box.current.style.transform = `translateY(${now.top}px)`;
    space.current.style.height = `${Math.max(extent.viewPx, contentPx(extent, drawnPx))}px`;
    setTo.current = { top: placed(bar.current, now.scrollTop), viewPx: extent.viewPx };
    if (pendingPx !== 0) bar.current.scrollTop += pendingPx;
    const wanted = rowsAround(now.anchor, extent);
    const isShort = wanted.from < range.from || wanted.to > range.to;
    if (isShort && pane.position.peek().is === "at") moveTo(now.anchor);
    loadAround(pane);
  });

  function inDocument({ from, to }: { from: number; to: number }) {
    return { from: toDocument(rows, from), to: toDocument(rows, to) };
  }
  const moveTo = (to: Anchor) => pane.moveTo({ ...to, row: toDocument(rows, to.row) });
  const move = (pixels: number) => {
    // The next move of this frame starts where this one ends.
    shown.current = movedBy(shown.current, pixels);
    moveTo(shown.current);
  };
  /** Opens or closes a group whose marker stays where it is. */
  const toggle = (id: string, row: number, marker: Element) => {
    const top = view.current?.getBoundingClientRect().top ?? 0;
    batch(() => {
      pane.moveTo({ row, y: marker.getBoundingClientRect().top - top });
      pane.folds?.toggle(id);
    });
  };
  const onScroll = ({ currentTarget }: TargetedEvent<HTMLDivElement>) => {
    const { scrollTop, scrollHeight, clientHeight } = currentTarget;
    if (scrolledPx(currentTarget, view.current, setTo.current) === 0) return;
    setTo.current = { top: scrollTop, viewPx: extent.viewPx };
    const next = anchorAt(scrollTop, extent);
    if (scrollTop >= scrollHeight - clientHeight - 1) {
      pane.reachedEnd({ ...next, row: toDocument(rows, next.row) });
    } else moveTo(next);
  };
  // Where the bar is too coarse, wheels and keys move by pixels all the same.
  const onWheel = (event: WheelEvent) => {
    if (event.deltaY < 0) loadAbove(pane);
    if (!isProportional(extent) || event.ctrlKey || event.deltaY === 0) return;
    event.preventDefault();
    move(event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? event.deltaY : event.deltaY * ROW_PX);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const pixels = stepOf(event.key, extent.viewPx);
    if (pixels !== undefined && pixels < 0) loadAbove(pane);
    if (!isProportional(extent) || pixels === undefined) return;
    event.preventDefault();
    move(pixels);
  };
  const refs = { bar, space, view, box };
  return { document, rows, range, toggle, refs, handlers: { onScroll, onWheel, onKeyDown } };
}

/** Moves the bar, if it is elsewhere, and returns where it is then. */
function placed(bar: HTMLElement, scrollTop: number): number {
  if (Math.abs(bar.scrollTop - scrollTop) >= 1) bar.scrollTop = scrollTop;
  return bar.scrollTop;
}

/**
 * How far somebody has moved the bar since it was set. In a view of another height than then, it was the
 * browser, and nobody has.
 */
function scrolledPx(
  bar: HTMLElement,
  view: HTMLElement | null,
  setTo: { top: number; viewPx: number },
): number {
  const px = bar.scrollTop - setTo.top;
  return Math.abs(px) >= 1 && view?.clientHeight === setTo.viewPx ? px : 0;
}

/** Reads what is near the rows in view. */
function loadAround(pane: RowsPane): void {
  const document = pane.document.peek();
  const isNearStart = pane.drawn.from < NEAR_ROWS;
  const isNearEnd = pane.drawn.to > documentRows(document) - NEAR_ROWS;
  // All of it is in view: what comes at one side must not push out the other, and nobody has asked for it.
  const isFolded = hasFolded(pane) && isNearStart && isNearEnd;
  if (isFolded && documentBytes(document) > FOLDED_BYTES) return;
  if (isNearStart) pane.loadEarlier();
  if (isNearEnd) pane.loadLater();
}

/** Reads more for somebody who goes up while all that is in memory fits, since its groups are folded. */
function loadAbove(pane: RowsPane): void {
  const hasRoom = documentBytes(pane.document.peek()) + FOLDED_BYTES <= MAX_WINDOW_BYTES;
  if (hasFolded(pane) && hasRoom && pane.drawn.from < NEAR_ROWS) pane.loadEarlier();
}

function hasFolded({ folds }: RowsPane): boolean {
  return folds !== undefined && folds.shown.peek().hidden.length > 0;
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
