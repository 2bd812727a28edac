// What happened to a run, latest first?
import { ask } from "../../api/send.ts";
import { Scroll } from "../../parts/lists/scroll.tsx";
import { Heads } from "../../parts/lists/table.tsx";
import { Trouble } from "../../parts/problem.tsx";
import { Moment } from "../../parts/time.tsx";
import { useLoad } from "../../store/load.ts";

/** The events of a run. */
export function Events({ id, version }: { id: string; version: number }) {
  const list = useLoad({
    key: id,
    version,
    ask: (signal) => ask("listRunEvents", { path: { id } }, signal),
    isLast: ({ ended }) => ended,
  });
  const { items = [], dropped = 0 } = list.value ?? {};
  return (
    <>
      <Trouble error={list.error} again={list.again} />
      <Scroll label="Events">
        <table>
          <Heads of={["When", "Task", "What", "Details"]} />
          <tbody>
            {items.toReversed().map(({ seq, at, task, type, message }) => (
              <tr key={seq}>
                <td>
                  <Moment at={at} />
                </td>
                <td>{task ?? "–"}</td>
                <td>{type}</td>
                <td>{message}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {dropped > 0 && <p>{dropped} older events are not kept any more.</p>}
    </>
  );
}
