// Which machines are gone since a week, and what did they cost?
import type { GoneWorker } from "../../src/generated/api.ts";
import { readGone } from "../fleet/read.ts";
import { amountText } from "../fleet/words.ts";
import { Choice } from "../parts/lists/choice.tsx";
import { Pages, pageOf } from "../parts/lists/pages.tsx";
import { Scroll } from "../parts/lists/scroll.tsx";
import { Heads } from "../parts/lists/table.tsx";
import { Nothing, Settled, Trouble } from "../parts/problem.tsx";
import { Moment, Took } from "../parts/time.tsx";
import { itemHref, queryOf } from "../router/place.ts";
import { droverNow } from "../store/clock.ts";
import { useLoad } from "../store/load.ts";
import { poolNames, useChosenPool } from "../store/pools.ts";

const KEPT_MS = 7 * 24 * 3_600_000;
/** A pool reads its whole table of machines for this. */
const EVERY_MS = 60_000;

/** The list of machines that are gone, the latest or the most expensive first. */
export function GoneWorkers() {
  const { pool } = useChosenPool();
  const pools = pool === "" ? poolNames.value : [pool];
  const isByCost = queryOf("sort") === "cost";
  const list = useLoad({
    key: pools.length === 0 ? undefined : pools.join(" "),
    everyMs: EVERY_MS,
    ask: async (signal) => {
      const since = { fromMs: droverNow() - KEPT_MS };
      const read = await Promise.all(pools.map((name) => readGone(name, since, signal)));
      return { items: read.flatMap(({ items }) => items), isWhole: read.every(({ isWhole }) => isWhole) };
    },
  });
  const { items = [], isWhole = true } = list.value ?? {};
  const ordered = items.toSorted(isByCost ? byCost : byEnd);
  return (
    <>
      <nav class="pages" aria-label="Order of the machines">
        <Choice to={{ sort: undefined, page: undefined }} isChosen={!isByCost}>
          By end
        </Choice>
        <Choice to={{ sort: "cost", page: undefined }} isChosen={isByCost}>
          By cost
        </Choice>
      </nav>
      <Trouble error={list.error} again={list.again} />
      <Settled isStale={list.isStale}>
        {list.value && items.length === 0 && <Nothing why="No machine has ended in the last 7 days." />}
        {!isWhole && (
          <p class="trouble">There are more machines than the page reads: the oldest are left out.</p>
        )}
        {items.length > 0 && <GoneTable items={pageOf(ordered)} all={items} />}
        <Pages count={items.length} label="Pages of the machines" />
      </Settled>
    </>
  );
}

const byEnd = (a: GoneWorker, b: GoneWorker) => Date.parse(b.goneAt) - Date.parse(a.goneAt);
// What is unknown is at the end: it is no cost of 0.
const byCost = (a: GoneWorker, b: GoneWorker) => (b.cost ?? -1) - (a.cost ?? -1) || byEnd(a, b);

function GoneTable({ items, all }: { items: readonly GoneWorker[]; all: readonly GoneWorker[] }) {
  const sum = all.reduce((total, { cost }) => total + (cost ?? 0), 0);
  const unpriced = all.filter(({ cost }) => cost === null).length;
  return (
    <>
      <p>
        Machines: {all.length}; cost: {amountText(sum)}
        {unpriced > 0 && `, and ${unpriced} of unknown price`}
      </p>
      <Scroll label="Machines that are gone">
        <table>
          <Heads of={["Worker", "Type", "Asked", "Gone", "Was there", "Cost", "Why"]} />
          <tbody>
            {items.map(({ id, instanceType, askedAt, goneAt, cost, reason }) => (
              <tr key={id}>
                <td>
                  <a href={itemHref("workers", id)}>{id}</a>
                </td>
                <td>{instanceType}</td>
                <td>
                  <Moment at={askedAt} />
                </td>
                <td>
                  <Moment at={goneAt} />
                </td>
                <td>
                  <Took from={askedAt} to={goneAt} />
                </td>
                <td>{amountText(cost)}</td>
                <td>{reason}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}
