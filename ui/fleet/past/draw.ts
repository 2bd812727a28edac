// Which outlines do parts and counts have in a picture of some pixels (ui.md#fleet)?
import type { Kind, Part } from "./bars.ts";
import type { Reach } from "./looks.ts";
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
  const { height } = frame;
  return pixelsOf(parts, kind, frame)
    .map(({ left, right }) => `M${left} ${height}V0H${right}V${height}Z`)
    .join("");
}

/** How full the machines were that ran, pixel by pixel; null: unknown. `reaches`: in order. */
export function sharesOf(reaches: readonly Reach[], frame: Frame): (number | null)[] {
  const { fromMs, toMs, width } = frame;
  let index = 0;
  return Array.from({ length: width }, (_, pixel) => {
    const atMs = fromMs + ((pixel + 0.5) / width) * (toMs - fromMs);
    while ((reaches[index]?.toMs ?? atMs) < atMs) index += 1;
    const reach = reaches[index];
    return reach === undefined || reach.fromMs > atMs ? null : reach.look.share;
  });
}

/** The running parts, each of their pixels as high as its share; nothing where the share is unknown. */
export function fillOf(parts: readonly Part[], shares: readonly (number | null)[], frame: Frame): string {
  const { height } = frame;
  let path = "";
  for (const { left, right } of pixelsOf(parts, "running", frame)) {
    let drawn = height;
    path += `M${left} ${height}`;
    for (let pixel = left; pixel < right; pixel += 1) {
      const top = height - Math.round((shares[pixel] ?? 0) * height);
      if (top !== drawn) path += `H${pixel}V${top}`;
      drawn = top;
    }
    path += `H${right}V${height}Z`;
  }
  return path;
}

/** The pixels of parts of a kind: apart from each other, and at least one for each part. */
function pixelsOf(parts: readonly Part[], kind: Kind, frame: Frame): { left: number; right: number }[] {
  const boxes: { left: number; right: number }[] = [];
  for (const part of parts) {
    if (part.kind !== kind) continue;
    const left = pixelOf(part.fromMs, frame);
    const right = Math.max(left + 1, pixelOf(part.toMs, frame));
    const last = boxes.at(-1);
    if (last === undefined || left > last.right) boxes.push({ left, right });
    else last.right = Math.max(last.right, right);
  }
  return boxes;
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
