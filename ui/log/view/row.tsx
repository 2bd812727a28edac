// One row of output: its number, which links to it, and its text.
import type { Span } from "../text/spans.ts";
import { lookOf } from "../text/style.ts";
import type { TextRow } from "./drawn.ts";
import { FoldButton, type RowGroup } from "./groups.tsx";

interface RowProps {
  row: TextRow;
  href: string;
  isMarked: boolean;
  /** The group that begins at the row. */
  group: RowGroup | undefined;
  /** Links to the rows from the linked one to this one. */
  onExtend: () => void;
}

/** A row of text (ui.md#d9). Its number is no text, so that copying leaves it out. */
export function Row({ row, href, isMarked, group, onExtend }: RowProps) {
  const number = numberOf(row);
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
        data-number={number ?? "⋯"}
        aria-label={number === undefined ? "Link to the same line" : `Link to line ${number}`}
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

/** The number of the line, or the offset of its first byte if nobody has counted the lines before. */
function numberOf({ line, from, isContinued }: TextRow): string | undefined {
  if (isContinued) return undefined;
  return line === undefined ? `@${from}` : String(line);
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
