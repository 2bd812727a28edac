// How is a list shown that the page has as a whole? In pages, whose number is in the address (ui.md#d15).
import { queryOf } from "../../router/place.ts";
import { Choice } from "./choice.tsx";

/** The most rows of a list that are in the document (ui.md#d14). */
const PAGE = 50;

/** The part of a list that the address names; the first one if it names none. */
export function pageOf<T>(items: readonly T[]): T[] {
  const first = (number() - 1) * PAGE;
  return items.slice(first, first + PAGE);
}

function number(): number {
  return Math.max(1, Math.floor(Number(queryOf("page")) || 1));
}

/** Links to the parts before and after, and which part of `count` items is shown. */
export function Pages({ count, label }: { count: number; label: string }) {
  const page = number();
  if (count <= PAGE && page === 1) return null;
  const first = (page - 1) * PAGE;
  return (
    <nav class="pages" aria-label={label}>
      <span>
        {Math.min(first + 1, count)}–{Math.min(first + PAGE, count)} of {count}
      </span>
      {page > 1 && <Choice to={{ page: page === 2 ? undefined : String(page - 1) }}>Before</Choice>}
      {first + PAGE < count && <Choice to={{ page: String(page + 1) }}>More</Choice>}
    </nav>
  );
}
