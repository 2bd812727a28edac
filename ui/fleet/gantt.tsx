// How are machines drawn? A bar for each, whose name and numbers the keyboard reaches (ui.md#d17).
import { type Signal, signal } from "@preact/signals";
import type { ComponentChildren, TargetedKeyboardEvent } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { itemHref } from "../router/place.ts";
import { type Bar, KINDS, type Kind } from "./past/bars.ts";
import { boxesOf, type Frame, fillOf, pixelOf, sharesOf } from "./past/draw.ts";
import type { Fleet } from "./past/fleet.ts";
import type { Span } from "./past/machine.ts";
import { marksOf, markText } from "./range.ts";
import { barText } from "./words.ts";

const BAR_PX = 18;

/** What a line of the picture is: a link with a name, and what is drawn beside it. */
export interface Line {
  key: string;
  href: string;
  name: string;
  /** All that the line says. */
  text: string;
  draw(frame: Frame): ComponentChildren;
}

/** The lines of machines, each of which leads to its worker. */
export function linesOfBars(bars: readonly Bar[], { span, reaches }: Fleet): Line[] {
  // All bars share one frame, and so how full the machines were at each of its pixels.
  const shares = onceFor((frame: Frame) => sharesOf(reaches, frame));
  return bars.map((bar) => ({
    key: bar.machine.id,
    href: itemHref("workers", bar.machine.id),
    name: bar.machine.id,
    text: barText(bar, span),
    draw: (frame) => <Parts bar={bar} shares={shares(frame)} frame={frame} />,
  }));
}

/** The same, but what was made last is used again for the same width. */
function onceFor<T>(make: (frame: Frame) => T): (frame: Frame) => T {
  let last: { width: number; made: T } | undefined;
  return (frame) => {
    if (last?.width !== frame.width) last = { width: frame.width, made: make(frame) };
    return last.made;
  };
}

function Parts(props: { bar: Bar; shares: readonly (number | null)[]; frame: Frame }) {
  const { shares, frame } = props;
  const { parts } = props.bar;
  return (
    <>
      {KINDS.map((kind) => (
        <path key={kind} class={`part ${kind}`} fill={PATTERNS[kind]} d={boxesOf(parts, kind, frame)} />
      ))}
      <path class="part filled" d={fillOf(parts, shares, frame)} />
    </>
  );
}

/** What is not told by color alone is told by a pattern. */
const PATTERNS: Partial<Record<Kind, string>> = {
  booting: "url(#fleet-booting)",
  ending: "url(#fleet-ending)",
};

const LEGEND: [Kind, string][] = [
  ["booting", "booting"],
  ["running", "running, filled as far as the machines that ran were on average"],
  ["idle", "idle"],
  ["ending", "ending"],
  ["unknown", "unknown: nothing says what it did"],
];

/** The picture: lines below each other over one axis of time, and in words the line that has the focus. */
export function Gantt(props: {
  lines: readonly Line[];
  span: Span;
  markMs: number;
  /** Of names and bars together. */
  width: number;
  namesPx: number;
  cursor: Signal<number | undefined>;
}) {
  const { lines, span, width, namesPx } = props;
  const current = useMemo(() => signal(""), []);
  const list = useRef<HTMLOListElement>(null);
  const frame = { ...span, width: Math.max(1, width - namesPx), height: BAR_PX };
  const shown = lines.find(({ key }) => key === current.value) ?? lines[0];
  const point = (clientX: number) => {
    const left = clientX - (list.current?.getBoundingClientRect().left ?? 0) - namesPx;
    const isInside = left >= 0 && left <= frame.width;
    const atMs = span.fromMs + (left / frame.width) * (span.toMs - span.fromMs);
    props.cursor.value = isInside ? atMs : undefined;
  };
  return (
    <div class="gantt">
      <Patterns />
      <Legend />
      <ol
        ref={list}
        aria-label="Machines over time; arrow keys go from one to the next"
        onKeyDown={(event) => step(event, list.current)}
        onMouseMove={(event) => point(event.clientX)}
        onMouseLeave={() => point(-1)}
      >
        {lines.map((line) => (
          <Row key={line.key} line={line} frame={frame} isCurrent={line === shown} current={current} />
        ))}
      </ol>
      <Axis frame={frame} markMs={props.markMs} cursor={props.cursor} />
      <p class="told">{shown?.text}</p>
    </div>
  );
}

function Row(props: { line: Line; frame: Frame; isCurrent: boolean; current: Signal<string> }) {
  const { key, href, name, text, draw } = props.line;
  const tell = () => {
    props.current.value = key;
  };
  return (
    <li onPointerEnter={tell}>
      {/* One of the links is reached by Tab, the others by arrows. */}
      <a href={href} aria-label={text} tabIndex={props.isCurrent ? 0 : -1} onFocus={tell}>
        <span class="who">{name}</span>
        <svg width={props.frame.width} height={BAR_PX} aria-hidden="true">
          {draw(props.frame)}
        </svg>
      </a>
    </li>
  );
}

/** Moves the focus among the lines by arrows, Home and End. */
function step(event: TargetedKeyboardEvent<HTMLElement>, list: HTMLElement | null): void {
  const links = [...(list?.querySelectorAll("a") ?? [])];
  const at = links.findIndex((link) => link.contains(document.activeElement));
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  links[Math.min(links.length - 1, Math.max(0, to))]?.focus();
}

function Axis({
  frame,
  markMs,
  cursor,
}: {
  frame: Frame;
  markMs: number;
  cursor: Signal<number | undefined>;
}) {
  return (
    <svg class="axis" width={frame.width} height={BAR_PX} aria-hidden="true">
      {marksOf(frame, markMs).map((atMs) => (
        <g key={atMs}>
          <path d={`M${pixelOf(atMs, frame)} 0v4`} />
          <text x={pixelOf(atMs, frame)} y="16">
            {markText(atMs, markMs)}
          </text>
        </g>
      ))}
      {cursor.value !== undefined && (
        <path class="cursor" d={`M${pixelOf(cursor.value, frame)} 0v${BAR_PX}`} />
      )}
    </svg>
  );
}

function Patterns() {
  return (
    <svg class="patterns" aria-hidden="true">
      <defs>
        <pattern id="fleet-booting" width="6" height="6" patternUnits="userSpaceOnUse">
          <path d="M-1 7L7 -1" />
        </pattern>
        <pattern id="fleet-ending" width="5" height="5" patternUnits="userSpaceOnUse">
          <path d="M2 0V5" />
        </pattern>
      </defs>
    </svg>
  );
}

function Legend() {
  return (
    <ul class="legend">
      {LEGEND.map(([kind, word]) => (
        <li key={kind}>
          <svg width="24" height={BAR_PX} aria-hidden="true">
            <path class={`part ${kind}`} fill={PATTERNS[kind]} d={`M1 1H23V${BAR_PX - 1}H1Z`} />
            {kind === "running" && <path class="part filled" d={`M1 ${BAR_PX / 2}H23V${BAR_PX - 1}H1Z`} />}
          </svg>{" "}
          {word}
        </li>
      ))}
    </ul>
  );
}
