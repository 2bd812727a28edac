// Which tries has a run had, when does the next one begin, and does it wait for somebody (retry.md#status)?
import type { RunStatus } from "../../../../src/generated/api.ts";
import { CAUSE_WORDS } from "../../../../src/shared/retry/causes.ts";
import { formatSize } from "../../../../src/shared/size.ts";
import { Scroll } from "../../../parts/lists/scroll.tsx";
import { Heads } from "../../../parts/lists/table.tsx";
import { perHour } from "../../../parts/price.ts";
import { Mark } from "../../../parts/state.tsx";
import { Moment } from "../../../parts/time.tsx";
import { itemHref } from "../../../router/place.ts";

type Tries = NonNullable<RunStatus["retries"]>;

/** That a run is parked, or which run repeats it; nothing for any other (retry.md#parked). */
export function Parked({ run: { parked, redriven } }: { run: Pick<RunStatus, "parked" | "redriven"> }) {
  if (redriven !== undefined)
    return (
      <p>
        It was parked. {redriven.by} has had it run again as{" "}
        <a href={itemHref("runs", redriven.run)}>{redriven.run}</a>, <Moment at={redriven.at} />.
      </p>
    );
  if (parked === undefined) return null;
  return (
    <section class="why" aria-label="Why it waits for somebody">
      <p>
        <Mark icon="stop" tone="waits" word="parked" /> <Moment at={parked.since} />, {parked.reason}. It
        stays so until somebody has it run again, or deletes it.
      </p>
    </section>
  );
}

/** The tries of a run that was tried again, or that waits for its next try. */
export function TriesOf({ run: { retries } }: { run: Pick<RunStatus, "retries"> }) {
  if (retries === undefined || retries.items.length < 2) return null;
  return (
    <>
      <h2>Tries</h2>
      <p>
        Try {retries.try} of {retries.of}
        {retries.nextAt !== null && (
          <>
            , which asks for a machine <Moment at={retries.nextAt} />
          </>
        )}
      </p>
      <Table items={retries.items} />
    </>
  );
}

function Table({ items }: Pick<Tries, "items">) {
  return (
    <Scroll label="Tries">
      <table>
        <Heads of={["Try", "Worker", "Memory", "Price", "Ended", "Why another followed"]} />
        <tbody>
          {items.map(({ try: number, worker, memoryBytes, onDemand, perHour: price, finishedAt, ...own }) => (
            <tr key={number}>
              <td>{number}</td>
              <td>{worker === null ? "–" : <a href={itemHref("workers", worker)}>{worker}</a>}</td>
              <td>{formatSize(memoryBytes)}</td>
              <td>
                {price === null ? "unknown" : perHour(price)}
                {onDemand && ", on demand"}
              </td>
              <td>{finishedAt === null ? "–" : <Moment at={finishedAt} />}</td>
              <td>{own.cause === null ? "–" : `${CAUSE_WORDS[own.cause]}: ${own.text}`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
