// How are the labels of a run shown, and where do they lead?
import { hrefOf, place } from "../../router/place.ts";

/** The labels of a filter with another one. A run has one value for each name, so a former value leaves. */
export function withLabel(labels: readonly string[], name: string, value: string): string[] {
  const others = labels.filter((label) => label.split(/[=:]/, 1)[0] !== name);
  return [...others, `${name}=${value}`];
}

/** The labels of a run. Each leads to the runs with it; in the list, the other filters stay. */
export function Labels({ labels }: { labels: Record<string, string> }) {
  const { path, query } = place.value;
  const isList = path === "/ui/runs";
  return (
    <>
      {Object.entries(labels).map(([name, value]) => {
        const label = withLabel(isList ? query.getAll("label") : [], name, value);
        const changes = { label, cursor: undefined, selected: undefined, all: undefined };
        const kept = isList ? query : new URLSearchParams();
        return (
          <a key={name} class="chip" href={hrefOf("/ui/runs", kept, changes)}>
            {name}={value}
          </a>
        );
      })}
    </>
  );
}
