// What do the pictures of the fleet say in numbers (ui.md#d17)?
import { Choice } from "../parts/lists/choice.tsx";
import { Pages, pageOf } from "../parts/lists/pages.tsx";
import { Scroll } from "../parts/lists/scroll.tsx";
import { Heads } from "../parts/lists/table.tsx";
import { WorkerStateMark } from "../parts/state.tsx";
import { took } from "../parts/time.tsx";
import { itemHref, queryOf } from "../router/place.ts";
import { barsOf, type Fleet } from "./past/fleet.ts";
import { costWithin, type Machine } from "./past/machine.ts";
import { rowsOf } from "./past/queue.ts";
import { sumOf, type TypeSum, typesOf } from "./past/types.ts";
import { amountText, momentText, timesText } from "./words.ts";

/** The most rows of the totals (ui.md#d14). */
const MOST_TYPES = 50;

/** The totals of all machines, and of each type, with those that are there now. */
export function Totals({ fleet, chosen }: { fleet: Fleet; chosen: string }) {
  const types = typesOf(fleet.machines, fleet.span);
  return (
    <Scroll label="Machines by type">
      <table class="totals">
        <Heads of={["Type", "Machines", "At most at a time", "Machine hours", "Cost", "There now"]} />
        <tbody>
          {types.slice(0, MOST_TYPES).map((sum) => (
            <SumRow key={sum.type} sum={sum}>
              <Choice to={{ type: sum.type, page: undefined }} isChosen={sum.type === chosen}>
                {sum.type}
              </Choice>
            </SumRow>
          ))}
        </tbody>
        <tfoot>
          <SumRow sum={sumOf("all", fleet.machines, fleet.span)}>
            {chosen === "" ? "all" : <Choice to={{ type: undefined, page: undefined }}>all</Choice>}
          </SumRow>
        </tfoot>
      </table>
      {types.length > MOST_TYPES && (
        <p>
          {types.length - MOST_TYPES} more types, each of which cost no more than these. The sum of all has
          them, too.
        </p>
      )}
    </Scroll>
  );
}

function SumRow({ sum, children }: { sum: TypeSum; children: preact.ComponentChildren }) {
  const { machines, most, lifeMs, now } = sum;
  const states = Object.entries(now).map(([state, count]) => `${count} ${state}`);
  return (
    <tr>
      <th scope="row">{children}</th>
      <td>{machines}</td>
      <td>{most}</td>
      <td>{(lifeMs / 3_600_000).toFixed(2)}</td>
      <td>{costText(sum)}</td>
      <td>{states.join(", ") || "none"}</td>
    </tr>
  );
}

/** The money of some machines, with how many are not in it. */
export function costText({ cost, unpriced, machines }: TypeSum): string {
  if (unpriced === machines && machines > 0) return "unknown";
  return unpriced === 0 ? amountText(cost) : `${amountText(cost)}, and ${unpriced} of unknown price`;
}

/** The machines as a table, in the order of their requests or, the most expensive first, of their costs. */
export function MachineTable({ fleet, machines }: { fleet: Fleet; machines: readonly Machine[] }) {
  const isByCost = queryOf("sort") === "cost";
  const ordered = isByCost ? byCost(fleet, machines) : machines;
  return (
    <>
      <nav class="pages" aria-label="Order of the machines">
        <Choice to={{ sort: undefined, page: undefined }} isChosen={!isByCost}>
          By request
        </Choice>
        <Choice to={{ sort: "cost", page: undefined }} isChosen={isByCost}>
          By cost
        </Choice>
      </nav>
      <Scroll label="Machines">
        <table class="machines">
          <Heads of={["Machine", "Type", "State", "Asked", "Gone", "Times", "Cost"]} />
          <tbody>
            {barsOf(fleet, pageOf(ordered)).map((bar) => (
              <tr key={bar.machine.id}>
                <th scope="row">
                  <a href={itemHref("workers", bar.machine.id)}>{bar.machine.id}</a>
                </th>
                <td>{bar.machine.type}</td>
                <td>
                  <WorkerStateMark state={bar.machine.state} />
                </td>
                <td>{momentText(bar.machine.askedMs)}</td>
                <td>{bar.machine.goneMs === null ? "–" : momentText(bar.machine.goneMs)}</td>
                <td>{timesText(bar)}</td>
                <td>{amountText(costWithin(bar.machine, fleet.span))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <Pages count={ordered.length} label="Pages of the machines" />
    </>
  );
}

function byCost({ span }: Fleet, machines: readonly Machine[]): Machine[] {
  // What is unknown is at the end: it is no cost of 0.
  const costOf = (machine: Machine) => costWithin(machine, span) ?? -1;
  return machines.toSorted((a, b) => costOf(b) - costOf(a));
}

/** The queue as a table, the latest first. */
export function QueueTable({ fleet, rowMs }: { fleet: Fleet; rowMs: number }) {
  return (
    <Scroll label="Queue">
      <table class="queue">
        <Heads of={["Until", "Waiting at most", "Oldest at most"]} />
        <tbody>
          {rowsOf(fleet.queue, fleet.span, rowMs).map(({ toMs, depth, oldestMs }) => (
            <tr key={toMs}>
              <th scope="row">{momentText(toMs)}</th>
              <td>{depth ?? "unknown"}</td>
              <td>{oldestMs === null ? "unknown" : depth === 0 ? "–" : took(oldestMs)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
