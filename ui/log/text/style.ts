// How does a span look: which classes, and which colors of its own?
import Anser from "anser";
import { type Rgb, readableOn } from "./contrast.ts";

/** What gives a span its look. Classes are defined in the style sheet. */
export interface Look {
  classes: string[];
  /** Colors that no class has, as values of CSS. */
  color?: string;
  background?: string;
}

/** The grounds of the two themes, as the style sheet has them. */
export const LIGHT: Rgb = [0xff, 0xff, 0xff];
export const DARK: Rgb = [0x16, 0x19, 0x1d];
const PLAIN: Look = { classes: [] };
/**
 * The decorations that the style sheet knows. What blinks is shown without blinking, what is hidden is shown.
 */
const DECORATIONS = ["bold", "dim", "italic", "underline", "strikethrough"];
/** The steps of the color cube 16 to 231 of a terminal. */
const CUBE = [0, 95, 135, 175, 215, 255];

/**
 * The look of a style (ui.md#log-text). The 16 colors are classes, so that the style sheet can give each
 * theme readable ones. Others are changed until they can be read on a light and on a dark ground, unless the
 * task chose the ground, too.
 */
export function lookOf(style: string): Look {
  if (style === "") return PLAIN;
  const chunks = Anser.ansiToJson(`${plainParameters(style)}x`, { use_classes: true, remove_empty: true });
  const last = chunks.at(-1);
  if (last === undefined) return PLAIN;
  const fore = colorOf(last.fg, last.fg_truecolor);
  const ground = colorOf(last.bg, last.bg_truecolor);
  // The types of Anser do not have it.
  const isInverted = "isInverted" in last && last.isInverted === true;
  const look = isInverted ? reversed(fore, ground) : inked(fore, ground);
  const decorations = DECORATIONS.filter((name) => last.decorations.some((found) => found === name));
  return { ...look, classes: [...look.classes, ...decorations.map((name) => `log-${name}`)] };
}

/** A color of the 16, a color of its own, or the usual one. */
type Color = { name: string } | { rgb: Rgb } | undefined;

/**
 * Text and ground have changed places. Anser takes black and white for the usual colors, which they are not
 * in each theme, so a usual one stays where it is.
 */
function reversed(fore: Color, ground: Color): Look {
  const text = nameOf(fore) === "black" ? undefined : fore;
  const behind = nameOf(ground) === "white" ? undefined : ground;
  return text === undefined && behind === undefined ? { classes: ["log-reversed"] } : inked(text, behind);
}

function nameOf(color: Color): string | undefined {
  return color !== undefined && "name" in color ? color.name : undefined;
}

function inked(fore: Color, ground: Color): Look {
  const look: Look = { classes: [] };
  if (fore !== undefined && "name" in fore) look.classes.push(`log-${fore.name}`);
  if (ground !== undefined && "name" in ground) look.classes.push(`log-on-${ground.name}`);
  if (fore !== undefined && "rgb" in fore) {
    look.color = ground === undefined ? readable(fore.rgb) : css(fore.rgb);
  }
  if (ground !== undefined && "rgb" in ground) {
    look.background = css(ground.rgb);
    if (fore === undefined) look.color = css(readableOn([255, 255, 255], ground.rgb));
  }
  return look;
}

function colorOf(name: string | null, own: string | null): Color {
  if (name === null) return undefined;
  if (name === "ansi-truecolor") {
    const [red = 0, green = 0, blue = 0] = (own ?? "").split(",").map(Number);
    return { rgb: [red, green, blue] };
  }
  const palette = /^ansi-palette-(\d+)$/.exec(name);
  return palette === null ? { name: name.replace("ansi-", "") } : { rgb: ofPalette(Number(palette[1])) };
}

/** The color of a number from 16 to 255. */
function ofPalette(index: number): Rgb {
  if (index >= 232) {
    const level = 8 + (index - 232) * 10;
    return [level, level, level];
  }
  const step = (by: number) => CUBE[Math.floor((index - 16) / by) % 6] ?? 0;
  return [step(36), step(6), step(1)];
}

function readable(color: Rgb): string {
  return `light-dark(${css(readableOn(color, LIGHT))}, ${css(readableOn(color, DARK))})`;
}

function css(color: Rgb): string {
  return `rgb(${color.join(" ")})`;
}

/**
 * Writes parameters with colons in the older form, and leaves out colors of underlines: Anser knows neither.
 */
function plainParameters(style: string): string {
  return style.replace(/\[([\d;:]*)m/g, (_, parameters: string) => {
    const older = parameters
      .replace(/(?<=^|;)58(?:;5;\d+|;2;\d+;\d+;\d+|:[\d:]*)/g, "")
      .replace(/([34]8):2:\d*:(\d+):(\d+):(\d+)/g, "$1;2;$2;$3;$4")
      .replace(/([34]8):(5:\d+|2:\d+:\d+:\d+)/g, (whole) => whole.replaceAll(":", ";"))
      .replace(/(?<=^|;)(\d+):[\d:]*/g, "$1");
    const kept = older.replace(/^;+|;+$/g, "").replace(/;{2,}/g, ";");
    return kept === "" && parameters !== "" && parameters.includes("58") ? "[22222m" : `[${kept}m`;
  });
}
