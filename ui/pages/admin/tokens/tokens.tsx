// The tokens: a list, or the one that the address names.
import type { Token } from "../../../../src/generated/api.ts";
import { limitsText } from "../../../../src/shared/access/limits-text.ts";
import { ask } from "../../../api/send.ts";
import { Actions } from "../../../parts/acts/act.tsx";
import { Pages, pageOf } from "../../../parts/lists/pages.tsx";
import { Scroll } from "../../../parts/lists/scroll.tsx";
import { Heads } from "../../../parts/lists/table.tsx";
import { Once, useOnce } from "../../../parts/once.tsx";
import { Nothing, Settled, Trouble } from "../../../parts/problem.tsx";
import { Moment } from "../../../parts/time.tsx";
import { adminHref } from "../../../router/admin.ts";
import { go, queryOf, withQuery } from "../../../router/place.ts";
import { isSettled, useLoad } from "../../../store/load.ts";
import { nameOf } from "../own.tsx";
import { creationOf } from "./actions.tsx";
import { STATES, TokenStateMark } from "./mark.tsx";
import { OneToken } from "./token.tsx";

/** Tokens change seldom; a last use is known to the day. */
const EVERY_MS = 30_000;

/** The part `/ui/admin/tokens`. */
export function Tokens() {
  const id = queryOf("token");
  const once = useOnce();
  const known = useLoad({
    key: "tokens",
    everyMs: EVERY_MS,
    ask: async (signal) => {
      const [tokens, rules, sessions] = await Promise.all([
        ask("listTokens", {}, signal),
        ask("listTrustRules", {}, signal),
        ask("listSessions", {}, signal),
      ]);
      return { tokens: tokens.items, rules: rules.items, sessions: sessions.items };
    },
  });
  return (
    <>
      {id === "" && <h1>Tokens</h1>}
      <Trouble error={known.error} again={known.again} />
      <Once once={once} />
      {known.value && (
        <Settled isStale={known.isStale}>
          {id === "" ? (
            <List tokens={known.value.tokens} />
          ) : (
            // Two tokens can have the same name: one that has ended, or one of another project.
            <OneToken key={id} id={id} known={known.value} once={once} again={known.again} />
          )}
        </Settled>
      )}
      {id === "" && isSettled(known) && <Actions actions={[creationOf(once, known.again)]} />}
    </>
  );
}

function List({ tokens }: { tokens: readonly Token[] }) {
  const state = queryOf("state") || "active";
  const text = queryOf("q").toLowerCase();
  const chosen = tokens.filter(
    (one) => (state === "all" || one.state === state) && wordsIn(one).toLowerCase().includes(text),
  );
  return (
    <>
      <Filters state={state} text={text} />
      {chosen.length === 0 && tokens.length > 0 && <Nothing why="No token is like this." />}
      {tokens.length === 0 && (
        <Nothing why="There is no token yet." type="drover tokens create --name me --preset operator" />
      )}
      {chosen.length > 0 && <Table tokens={pageOf(chosen)} />}
      <Pages count={chosen.length} label="Pages of the list" />
    </>
  );
}

function Filters({ state, text }: { state: string; text: string }) {
  const choose = (changes: Record<string, string>) => go(withQuery({ ...changes, page: undefined }));
  return (
    <search>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          choose({ q: String(new FormData(event.currentTarget).get("q") ?? "") });
        }}
      >
        <label>
          Text <input key={text} name="q" type="search" defaultValue={text} placeholder="name, id or maker" />
        </label>
        <button type="submit">Filter</button>
        <label>
          State{" "}
          <select value={state} onChange={(event) => choose({ state: event.currentTarget.value })}>
            <option value="all">all</option>
            {STATES.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
      </form>
    </search>
  );
}

function Table({ tokens }: { tokens: readonly Token[] }) {
  return (
    <Scroll label="Tokens">
      <table>
        <Heads of={["State", "Token", "May", "Limits", "Made", "Last use", "Ends"]} />
        <tbody>
          {tokens.map((token) => (
            <tr key={token.id}>
              <td>
                <TokenStateMark state={token.state} />
              </td>
              <td>
                <a href={adminHref("tokens", token.id)}>{nameOf(token)}</a>
              </td>
              <td>{token.scopes.join(" ")}</td>
              <td>{limitsText(token.limits) || <span class="none">none</span>}</td>
              <td>
                <Moment at={token.createdAt} /> by {token.createdBy}
              </td>
              <td>{token.lastUsedOn ?? "never"}</td>
              <td>{token.expiresAt === null ? "when revoked" : <Moment at={token.expiresAt} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

const wordsIn = (token: Token) => `${nameOf(token)} ${token.id} ${token.createdBy}`;
