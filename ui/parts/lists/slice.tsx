// How is a list shown that the API gives whole? 50 rows at a time (ui.md#d14), from the place in the address.
import { queryOf, withQuery } from "../../router/place.ts";

/** How many rows a list has. */
const ROWS = 50;

/** The rows that the address chooses: `from=50` is the second part. */
export function sliceOf<T>(items: readonly T[]): readonly T[] {
  const from = fromOf();
  return items.slice(from, from + ROWS);
}

/** The links to the parts before and after, and which one is shown. Nothing if there is only one. */
export function Slices({ of }: { of: number }) {
  const from = fromOf();
  if (of <= ROWS && from === 0) return null;
  const before = Math.max(0, from - ROWS);
  return (
    <nav class="pages" aria-label="Pages of the list">
      {from > 0 && <a href={withQuery({ from: before === 0 ? undefined : String(before) })}>Before</a>}
      <span>
        {Math.min(from + 1, of)} to {Math.min(from + ROWS, of)} of {of}
      </span>
      {from + ROWS < of && <a href={withQuery({ from: String(from + ROWS) })}>Next</a>}
    </nav>
  );
}

function fromOf(): number {
  const from = Number(queryOf("from"));
  return Number.isSafeInteger(from) && from > 0 ? from : 0;
}
