// How many runs have each value of a label, by state? Counted among the rows that are shown, which it says.
import type { RunSummary } from "../../../src/generated/api.ts";
import { RUN_STATES } from "../../../src/shared/run-state.ts";
import { withLabel } from "../../parts/lists/labels.tsx";
import { Scroll } from "../../parts/lists/scroll.tsx";
import { Heads } from "../../parts/lists/table.tsx";
import { withQuery } from "../../router/place.ts";
import { groupsOf, sizeOf } from "./groups.ts";

/** The table of groups. `isAll`: no run that matches is missing among the rows. */
export function Groups(props: {
  runs: readonly RunSummary[];
  name: string;
  labels: readonly string[];
  isAll: boolean;
}) {
  const { runs, name, labels, isAll } = props;
  const groups = groupsOf(runs, name);
  const states = RUN_STATES.filter((state) => groups.some(({ counts }) => counts.has(state)));
  const which = isAll
    ? `all ${runs.length} runs that match`
    : `the ${runs.length} runs of this page, not of all`;
  return (
    <section aria-label={`Runs by ${name}`}>
      <h2>By {name}</h2>
      <p>Counts of {which}.</p>
      <Scroll label={`Counts by ${name}`}>
        <table>
          <Heads of={[name, "Runs", ...states]} />
          <tbody>
            {groups.map((group) => (
              <tr key={group.value ?? ""}>
                <th scope="row">
                  {group.value === undefined ? (
                    <span class="none">without</span>
                  ) : (
                    <a
                      href={withQuery({
                        label: withLabel(labels, name, group.value),
                        ...{ group: undefined, cursor: undefined, selected: undefined, all: undefined },
                      })}
                    >
                      {group.value}
                    </a>
                  )}
                </th>
                <td>{sizeOf(group)}</td>
                {states.map((state) => (
                  <td key={state}>{group.counts.get(state) ?? 0}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}
