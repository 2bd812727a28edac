// What did each version of a job say, who made it, and what did it change (jobs.md#versions)?
import type { JobVersion } from "../../../src/generated/api.ts";
import { ask } from "../../api/send.ts";
import { Choice } from "../../parts/lists/choice.tsx";
import { Pages, pageOf } from "../../parts/lists/pages.tsx";
import { Long, Scroll } from "../../parts/lists/scroll.tsx";
import { Heads } from "../../parts/lists/table.tsx";
import { Settled, Trouble } from "../../parts/problem.tsx";
import { Moment } from "../../parts/time.tsx";
import { queryOf } from "../../router/place.ts";
import { useLoad } from "../../store/load.ts";
import { differing, fieldsOf } from "./fields.ts";

/** The versions that are kept. They are asked for again when there is another one. */
export function Versions({ name, version }: { name: string; version: number }) {
  const list = useLoad({
    key: name,
    version,
    ask: (signal) => ask("listJobVersions", { path: { name } }, signal),
    isLast: () => true,
  });
  const items = list.value?.items ?? [];
  return (
    <>
      <Trouble error={list.error} again={list.again} />
      {list.value && (
        <Settled isStale={list.isStale}>
          <Chosen items={items} />
          <Table items={items} />
          <Pages count={items.length} label="Pages of the versions" />
        </Settled>
      )}
    </>
  );
}

function Chosen({ items }: { items: readonly JobVersion[] }) {
  const number = queryOf("version");
  if (number === "") return null;
  const chosen = items.find(({ version }) => String(version) === number);
  return (
    <section aria-label={`Version ${number}`}>
      <h2>Version {number}</h2>
      {chosen === undefined ? (
        <p>It is not kept any more, or was never there.</p>
      ) : (
        <Long label={`What version ${number} said`} text={JSON.stringify(fieldsOf(chosen), null, 2)} />
      )}
      <Choice to={{ version: undefined }}>Close</Choice>
    </section>
  );
}

function Table({ items }: { items: readonly JobVersion[] }) {
  const chosen = queryOf("version");
  return (
    <Scroll label="Versions">
      <table>
        <Heads of={["Version", "Stored", "By", "What it changed"]} />
        <tbody>
          {pageOf(items).map((one) => (
            <tr key={one.version}>
              <td>
                <Choice to={{ version: String(one.version) }} isChosen={String(one.version) === chosen}>
                  {one.version}
                </Choice>
              </td>
              <td>
                <Moment at={one.at} />
              </td>
              <td>{one.by}</td>
              <td>
                <Changed from={items.find(({ version }) => version === one.version - 1)} to={one} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Changed({ from, to }: { from: JobVersion | undefined; to: JobVersion }) {
  if (to.version === 1) return <>it made the job</>;
  if (from === undefined) return <>unknown: the version before is not kept</>;
  return <code>{differing(from, to).join(" ")}</code>;
}
