// The secrets: their names, who may use them and how old they are. No value is ever here to show.
import type { Secret, SecretList } from "../../../src/generated/api.ts";
import { usersOf } from "../../../src/shared/access/secret-use.ts";
import { ask } from "../../api/send.ts";
import { Actions } from "../../parts/acts/act.tsx";
import { Pages, pageOf } from "../../parts/lists/pages.tsx";
import { Scroll } from "../../parts/lists/scroll.tsx";
import { Heads } from "../../parts/lists/table.tsx";
import { Nothing, Settled, Trouble } from "../../parts/problem.tsx";
import { Moment } from "../../parts/time.tsx";
import { adminHref } from "../../router/admin.ts";
import { queryOf } from "../../router/place.ts";
import { isSettled, useLoad } from "../../store/load.ts";
import { historyHref } from "../events/filter.ts";
import { Foreign, isOwn, nameOf } from "./own.tsx";
import { removalOf, settingOf } from "./secret-actions.tsx";

/** Secrets change seldom; a hand-over is known to the day. */
const EVERY_MS = 30_000;

/** The part `/ui/admin/secrets`. */
export function Secrets() {
  const name = queryOf("secret");
  const list = useLoad({
    key: "secrets",
    everyMs: EVERY_MS,
    ask: (signal) => ask("listSecrets", {}, signal),
  });
  return (
    <>
      {name === "" && <h1>Secrets</h1>}
      <Trouble error={list.error} again={list.again} />
      {list.value && (
        <Settled isStale={list.isStale}>
          {name === "" ? (
            <List list={list.value} />
          ) : (
            <One name={name} list={list.value} again={list.again} />
          )}
        </Settled>
      )}
      {name === "" && isSettled(list) && <Actions actions={[settingOf(undefined, list.again)]} />}
    </>
  );
}

function List({ list: { items, wrappingKeys } }: { list: SecretList }) {
  return (
    <>
      {items.length === 0 ? (
        <Nothing why="There is no secret yet." type="printf %s VALUE | drover secrets set NAME -" />
      ) : (
        <Table secrets={pageOf(items)} />
      )}
      <Pages count={items.length} label="Pages of the list" />
      {wrappingKeys.length > 0 && <WrappingKeys of={wrappingKeys} />}
    </>
  );
}

function Table({ secrets }: { secrets: readonly Secret[] }) {
  return (
    <Scroll label="Secrets">
      <table>
        <Heads
          of={["Secret", "For", "Version", "Made", "Present value since", "Last handed to an attempt"]}
        />
        <tbody>
          {secrets.map((secret) => (
            <tr key={nameOf(secret)}>
              <td>
                <a href={adminHref("secrets", nameOf(secret))}>{nameOf(secret)}</a>
              </td>
              <td>{usersOf(secret.use)}</td>
              <td>{secret.version}</td>
              <td>
                <Moment at={secret.createdAt} /> by {secret.createdBy}
              </td>
              <td>
                <Moment at={secret.changedAt} /> by {secret.changedBy}
              </td>
              <td>{secret.lastHandedOn ?? "never"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function One({ name, list: { items }, again }: { name: string; list: SecretList; again: () => void }) {
  const secret = items.find((one) => nameOf(one) === name);
  if (secret === undefined) return <Nothing why={`There is no secret ${name}. It may have been removed.`} />;
  return (
    <>
      <h1>
        Secret <span class="name">{name}</span>
      </h1>
      <Table secrets={[secret]} />
      {isOwn(secret) ? (
        <Actions actions={[settingOf(secret, again), removalOf(secret, again)]} />
      ) : (
        <Foreign {...secret} />
      )}
      <p>
        <a href={historyHref({ target: secret.name, action: "secret" })}>Who set it, and which runs got it</a>
      </p>
    </>
  );
}

/** The keys that seal everything secret, and what to know of them (secrets.md#rotation). */
function WrappingKeys({ of }: { of: SecretList["wrappingKeys"] }) {
  const says = {
    in_use: "in use: keep it",
    unused: "unused: it can be deleted",
    missing: "missing: something that it has sealed cannot be opened; set it again in this Drover",
  };
  return (
    <>
      <h2>Wrapping keys</h2>
      <ul>
        {of.map(({ number, state }) => (
          <li key={number}>
            <code>DROVER_KEK_{number}</code> is {says[state]}
          </li>
        ))}
      </ul>
    </>
  );
}
