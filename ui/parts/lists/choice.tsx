// How does a reader choose what a view shows? By links that leave the page where it is scrolled to.
import type { ComponentChildren, TargetedMouseEvent } from "preact";
import { go, withQuery } from "../../router/place.ts";

/** A link that changes the query of the address (ui.md#d15). `isChosen`: this is what is shown. */
export function Choice(props: {
  to: Record<string, string | undefined>;
  isChosen?: boolean;
  children: ComponentChildren;
}) {
  return (
    <a
      href={withQuery(props.to)}
      aria-current={props.isChosen ? "true" : undefined}
      onClick={(event) => stay(event, props.to)}
    >
      {props.children}
    </a>
  );
}

/** What was chosen just before may not be drawn yet, so the address is that of the click. */
function stay(event: TargetedMouseEvent<HTMLAnchorElement>, to: Record<string, string | undefined>): void {
  if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go(withQuery(to));
}
