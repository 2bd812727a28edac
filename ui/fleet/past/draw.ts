// Which outlines do parts and counts have in a picture of some pixels (ui.md#fleet)?
import type { Kind, Part } from "./bars.ts";
import type { Span } from "./machine.ts";

/** The place of a picture: its time, and its pixels. */
export interface Frame extends Span {
  width: number;
  height: number;
}

/** The pixel, from the left, at which a moment is. */
export function pixelOf(atMs: number, { fromMs, toMs, width }: Frame): number {
  return Math.round(((atMs - fromMs) / (toMs - fromMs)) * width);
}

/** The boxes of all parts of a kind, as the `d` of an SVG path; empty: there are none. */
export function boxesOf(parts: readonly Part[], kind: Kind, frame: Frame): string {
  return outline(parts, kind, frame, () => frame.height);
}

/** The same of running parts, each as high as its share; a part of unknown share is left out. */
export function fillOf(parts: readonly Part[], frame: Frame): string {
  return outline(parts, "running", frame, ({ share }) => Math.round((share ?? 0) * frame.height));
}

function outline(parts: readonly Part[], kind: Kind, frame: Frame, heightOf: (part: Part) => number): string {
  const boxes: { left: number; right: number; height: number }[] = [];
  for (const part of parts) {
    const height = heightOf(part);
    if (part.kind !== kind || height === 0) continue;
    const last = boxes.at(-1);
    const left = pixelOf(part.fromMs, frame);
    // A part is at least one pixel wide. Of several within one pixel, the first is drawn.
    const right = Math.max(left + 1, pixelOf(part.toMs, frame));
    if (last === undefined || left > last.right || (right > last.right && height !== last.height))
      boxes.push({ left, right, height });
    else last.right = Math.max(last.right, right);
  }
  const { height: floor } = frame;
  return boxes
    .map(({ left, right, height }) => `M${left} ${floor}V${floor - height}H${right}V${floor}Z`)
    .join("");
}

/** Counts that hold from each moment on, as an area of which `most` is as high as the picture. */
export function areaOf(
  steps: readonly { atMs: number; count: number }[],
  most: number,
  frame: Frame,
): string {
  const [first] = steps;
  if (first === undefined || most === 0) return "";
  const lines = steps.map(
    ({ atMs, count }) =>
      `H${pixelOf(atMs, frame)}V${frame.height - Math.round((count / most) * frame.height)}`,
  );
  return `M${pixelOf(first.atMs, frame)} ${frame.height}${lines.join("")}H${frame.width}V${frame.height}Z`;
}
