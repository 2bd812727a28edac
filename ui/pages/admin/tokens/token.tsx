// One token: what it may do, since when, who made it, what it has made, and what to do about it.
import type { Signal } from "@preact/signals";
import type { Session, Token, TrustRule } from "../../../../src/generated/api.ts";
import { limitsText } from "../../../../src/shared/access/limits-text.ts";
import { Actions } from "../../../parts/acts/act.tsx";
import type { Shown } from "../../../parts/once.tsx";
import { Nothing } from "../../../parts/problem.tsx";
import { Moment } from "../../../parts/time.tsx";
import { adminHref } from "../../../router/admin.ts";
import { historyHref } from "../../events/filter.ts";
import { nameOf } from "../own.tsx";
import { actionsOf } from "./actions.tsx";
import { actorOf, browserOf, type Made, madeBy, sessionsOf } from "./made-by.ts";
import { TokenStateMark } from "./mark.tsx";

/** Everything that the part of tokens knows. */
interface Known {
  tokens: readonly Token[];
  rules: readonly TrustRule[];
  sessions: readonly Session[];
}

interface OneProps {
  id: string;
  known: Known;
  once: Signal<Shown | undefined>;
  again: () => void;
}

/** A token by its id. */
export function OneToken({ id, known: { tokens, rules, sessions }, once, again }: OneProps) {
  const token = tokens.find((one) => one.id === id);
  if (token === undefined) {
    return <Nothing why={`There is no token ${id}. A token is listed for 90 days after its end.`} />;
  }
  const made = madeBy(token, tokens, rules);
  const ending = { made, sessions: sessionsOf(token, sessions) };
  return (
    <>
      <h1>
        Token <span class="name">{nameOf(token)}</span>
      </h1>
      <Facts token={token} />
      <Actions actions={actionsOf(token, ending, once, again)} />
      <p>
        <a href={historyHref({ actor: actorOf(token) })}>What it did</a>,{" "}
        <a href={historyHref({ actor: browserOf(token) })}>what its browsers did</a>,{" "}
        <a href={historyHref({ target: token.id })}>what was done to it</a>
      </p>
      <MadeByIt made={made} sessions={ending.sessions} />
    </>
  );
}

function Facts({ token }: { token: Token }) {
  return (
    <dl class="facts each">
      <dt>State</dt>
      <dd>
        <TokenStateMark state={token.state} />
        {token.revokedBy !== null && ` by ${token.revokedBy}`}
      </dd>
      <dt>Id</dt>
      <dd class="name">{token.id}</dd>
      <dt>May</dt>
      <dd>{token.scopes.join(" ")}</dd>
      <dt>Limits</dt>
      <dd>{limitsText(token.limits) || "none"}</dd>
      <dt>Made</dt>
      <dd>
        <Moment at={token.createdAt} /> by {token.createdBy}
      </dd>
      <dt>Last use</dt>
      <dd>{token.lastUsedOn ?? "never"}</dd>
      <dt>Ends</dt>
      <dd>{token.expiresAt === null ? "when revoked" : <Moment at={token.expiresAt} />}</dd>
      <dt>Rotated</dt>
      <dd>
        <Moment at={token.rotatedAt} />
      </dd>
      <dt>Old secret until</dt>
      <dd>
        <Moment at={token.oldSecretUntil} />
      </dd>
    </dl>
  );
}

function MadeByIt({ made, sessions }: { made: Made; sessions: readonly Session[] }) {
  return (
    <>
      <h2>What it has made that is valid</h2>
      {made.tokens.length + made.rules.length === 0 && <p>Nothing.</p>}
      <ul>
        {made.tokens.map(({ id, name }) => (
          <li key={id}>
            token <a href={adminHref("tokens", id)}>{name}</a>
          </li>
        ))}
        {made.rules.map(({ name }) => (
          <li key={name}>
            trust rule <a href={adminHref("trust", name)}>{name}</a>
          </li>
        ))}
      </ul>
      <p>
        {sessions.length === 0
          ? "No browser is signed in with it."
          : `Browsers that are signed in with it: ${sessions.length}.`}
      </p>
    </>
  );
}
