// Can a color be read on a ground, and which similar color can?

/** Red, green and blue, 0 to 255. */
export type Rgb = [number, number, number];

/** The contrast that WCAG 2 demands of text at level AA. */
export const LEAST_CONTRAST = 4.5;
/** How many steps lead from a color to black or white. */
const STEPS = 20;

/** The contrast of two colors by WCAG 2: from 1 to 21. */
export function contrastOf(one: Rgb, other: Rgb): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/**
 * The color itself if it can be read on this ground, else the nearest one on the way to black or white that
 * can (ui.md#log-text).
 */
export function readableOn(color: Rgb, ground: Rgb): Rgb {
  const black: Rgb = [0, 0, 0];
  const white: Rgb = [255, 255, 255];
  const end = contrastOf(black, ground) > contrastOf(white, ground) ? black : white;
  for (let step = 0; step < STEPS; step++) {
    const mixed = mix(color, end, step / STEPS);
    if (contrastOf(mixed, ground) >= LEAST_CONTRAST) return mixed;
  }
  return end;
}

function mix(from: Rgb, to: Rgb, share: number): Rgb {
  const part = (index: 0 | 1 | 2) => Math.round(from[index] + (to[index] - from[index]) * share);
  return [part(0), part(1), part(2)];
}

function luminance(color: Rgb): number {
  const [red = 0, green = 0, blue = 0] = color.map((level) => {
    const share = level / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
