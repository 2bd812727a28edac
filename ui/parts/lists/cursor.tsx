// How does a reader go on in a list that the API gives in parts (ui.md#d11)?
import { withQuery } from "../../router/place.ts";

/** Links to the newest part of a list and to the next one. Nothing if there is only one. */
export function Parts({ cursor, next }: { cursor: string; next: string | null }) {
  if (cursor === "" && next === null) return null;
  return (
    <nav class="pages" aria-label="Pages of the list">
      {cursor !== "" && <a href={withQuery({ cursor: undefined })}>Newest</a>}
      {next !== null && (
        <a href={withQuery({ cursor: next })} rel="next">
          Older
        </a>
      )}
    </nav>
  );
}
