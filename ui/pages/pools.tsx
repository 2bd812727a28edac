// The list of pools, each with its queue, its runs, its machines and its costs.
import { ask } from "../api/send.ts";
import { Scroll } from "../parts/lists/scroll.tsx";
import { Heads } from "../parts/lists/table.tsx";
import { perHour } from "../parts/price.ts";
import { Nothing, Settled, Trouble } from "../parts/problem.tsx";
import { took } from "../parts/time.tsx";
import { itemHref } from "../router/place.ts";
import { useLoad } from "../store/load.ts";

const EVERY_MS = 5_000;

/** The page `/ui/pools`. */
export function Pools() {
  const list = useLoad({ key: "pools", everyMs: EVERY_MS, ask: (signal) => ask("listPools", {}, signal) });
  const items = list.value?.items ?? [];
  return (
    <>
      <h1>Pools</h1>
      <Trouble error={list.error} again={list.again} />
      <Settled isStale={list.isStale}>
        {list.value !== undefined && items.length === 0 && (
          <Nothing why="There is no pool yet: no run can start." type="drover pools create" />
        )}
        {items.length > 0 && (
          <Scroll label="Pools">
            <table>
              <Heads of={["Pool", "Queue", "Oldest", "Running", "Machines", "Costs", "At most"]} />
              <tbody>
                {items.map(({ name, queue, runs, workers, spend }) => (
                  <tr key={name}>
                    <td>
                      <a href={itemHref("pools", name)}>{name}</a>
                    </td>
                    <td>{queue.depth}</td>
                    <td>{queue.oldestAgeMs === null ? "–" : took(queue.oldestAgeMs)}</td>
                    <td>{runs.running}</td>
                    <td>{countsOf(workers) || "none"}</td>
                    <td>{perHour(spend?.perHour)}</td>
                    <td>{perHour(spend?.worstPerHour)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        )}
      </Settled>
    </>
  );
}

/** Counts by state in words, without those that are 0: `1 idle, 3 running`. */
export function countsOf(counts: Record<string, number>): string {
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${count} ${state}`)
    .join(", ");
}
