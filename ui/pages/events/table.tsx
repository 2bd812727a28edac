// How is an entry of the audit log shown? When, what was acted on, how and by whom, and what came of it.
import type { AuditDiff, AuditEntry } from "../../../src/generated/api.ts";
import { actorName } from "../../../src/shared/access/actor.ts";
import { Scroll } from "../../parts/lists/scroll.tsx";
import { Heads } from "../../parts/lists/table.tsx";
import { Mark } from "../../parts/state.tsx";
import { Moment } from "../../parts/time.tsx";
import { itemHref, withQuery } from "../../router/place.ts";
import { targetHref } from "./entry.ts";

/** The table of entries. */
export function EntryTable({ items }: { items: readonly AuditEntry[] }) {
  return (
    <Scroll label="Events">
      <table>
        <Heads of={["When", "Item", "What", "Who", "Pool", "Result", "Details"]} />
        <tbody>
          {items.map((entry) => (
            <Row key={entry.id} entry={entry} />
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Row({ entry }: { entry: AuditEntry }) {
  const { at, actor, action, pool, result } = entry;
  const who = actorName(actor);
  return (
    <tr>
      <td>
        <Moment at={at} />
      </td>
      <td>
        <Item entry={entry} />
      </td>
      <td>
        <a href={withQuery({ action, cursor: undefined })}>{action}</a>
      </td>
      <td>
        <a href={withQuery({ actor: who, cursor: undefined })}>{who}</a>
      </td>
      <td>{pool === null ? <span class="none">–</span> : <a href={itemHref("pools", pool)}>{pool}</a>}</td>
      <td>
        {result === "ok" ? (
          <Mark icon="good" tone="good" word="ok" />
        ) : (
          <Mark icon="bad" tone="bad" word="denied" />
        )}
      </td>
      <td class="details">
        <Details entry={entry} />
      </td>
    </tr>
  );
}

function Item({ entry }: { entry: AuditEntry }) {
  const { target, run } = entry;
  const href = targetHref(entry);
  const name = target.name ?? target.id;
  return (
    <>
      {target.kind} {href === undefined ? name : <a href={href}>{name}</a>}
      {run !== null && run !== target.id && (
        <>
          {" "}
          for the run <a href={itemHref("runs", run)}>{run}</a>
        </>
      )}{" "}
      <a
        class="chip"
        href={withQuery({ target: target.id, cursor: undefined })}
        aria-label={`all about ${name}`}
      >
        all
      </a>
    </>
  );
}

/** The reason, what it changed, and the request that asked for it. */
function Details({ entry: { reason, diff, via } }: { entry: AuditEntry }) {
  return (
    <>
      {reason}
      {diff !== null && diff.length > 0 && <Changes diff={diff} />}
      {via !== null && (
        <details>
          <summary>Request</summary>
          {via.requestId}, from {via.address ?? "an unknown address"}, {via.userAgent ?? "no user agent"}
        </details>
      )}
    </>
  );
}

/** What is made has many fields, which are not what a reader looks for first. */
const OPEN_CHANGES = 3;

function Changes({ diff }: { diff: readonly AuditDiff[] }) {
  const list = (
    <ul class="diff">
      {diff.map(({ field, from, to }) => (
        <li key={field}>
          <code>{field}</code>: {from !== null && <del>{from}</del>} {from !== null && "→"}{" "}
          <ins>{to ?? "nothing"}</ins>
        </li>
      ))}
    </ul>
  );
  if (diff.length <= OPEN_CHANGES) return list;
  return (
    <details>
      <summary>{diff.length} fields</summary>
      {list}
    </details>
  );
}
