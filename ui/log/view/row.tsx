// One row of output: its number, which links to it, and its text.
import type { Span } from "../text/spans.ts";
import { lookOf } from "../text/style.ts";
import type { TextRow } from "./drawn.ts";
import { FoldButton, type RowGroup } from "./groups.tsx";

/** What stands before a row, and is not copied. */
export interface Gutter {
  text: string;
  /** The name of the link to the row. */
  label: string;
  /** What is said on hover. */
  title?: string;
}

interface RowProps {
  row: TextRow;
  gutter: Gutter;
  href: string;
  isMarked: boolean;
  /** The group that begins at the row. */
  group: RowGroup | undefined;
  /** Links to the rows from the linked one to this one. */
  onExtend: () => void;
}

/** A row of text (ui.md#d9). Its number is no text, so that copying leaves it out. */
export function Row({ row, gutter, href, isMarked, group, onExtend }: RowProps) {
  const onClick = (event: MouseEvent) => {
    if (!event.shiftKey) return;
    event.preventDefault();
    onExtend();
  };
  return (
    <div class={`log-row${isMarked ? " log-marked" : ""}${group ? " log-group" : ""}`}>
      {/* biome-ignore lint/a11y/useAnchorContent: its name is in its label, and its picture in the style */}
      <a
        class="log-number"
        href={href}
        data-number={gutter.text}
        aria-label={gutter.label}
        title={gutter.title}
        tabIndex={-1}
        onClick={onClick}
      />
      {group && <FoldButton group={group} name={row.spans.map(({ text }) => text).join("")} />}
      <span class="log-text">{row.spans.map(shown)}</span>
    </div>
  );
}

/** The boundary where another attempt begins (ui.md#d3). */
export function Boundary({ attempt }: { attempt: string }) {
  return <div class="log-row log-boundary">Attempt {attempt} starts here</div>;
}

/** The number of a row's line: nothing if it is not known (ui.md#log-rows). */
export function numbered({ line, from, isContinued }: TextRow): Gutter {
  if (isContinued) return { text: "⋯", label: "Link to the same line" };
  if (line === undefined) return { text: "", label: `Link to byte ${from}` };
  return { text: String(line), label: `Link to line ${line}` };
}

function shown({ text, style, href }: Span) {
  const { classes, color, background } = lookOf(style);
  const look = color === undefined && background === undefined ? undefined : { color, background };
  const name = classes.length === 0 ? undefined : classes.join(" ");
  if (href !== undefined) {
    return (
      <a class={name} style={look} href={href} target="_blank" rel="noreferrer noopener">
        {text}
      </a>
    );
  }
  if (name === undefined && look === undefined) return text;
  return (
    <span class={name} style={look}>
      {text}
    </span>
  );
}
