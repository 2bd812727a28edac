// The trust rules: whose tokens can be exchanged for tokens of this Drover (oidc.md#trust-rules).
import type { Token, TrustRule } from "../../../../src/generated/api.ts";
import { limitsText } from "../../../../src/shared/access/limits-text.ts";
import { ask } from "../../../api/send.ts";
import { Actions } from "../../../parts/acts/act.tsx";
import { asLines } from "../../../parts/acts/given.ts";
import { Pages, pageOf } from "../../../parts/lists/pages.tsx";
import { Long, Scroll } from "../../../parts/lists/scroll.tsx";
import { Heads } from "../../../parts/lists/table.tsx";
import { Nothing, Settled, Trouble } from "../../../parts/problem.tsx";
import { Moment } from "../../../parts/time.tsx";
import { adminHref } from "../../../router/admin.ts";
import { queryOf } from "../../../router/place.ts";
import { isSettled, useLoad } from "../../../store/load.ts";
import { historyHref } from "../../events/filter.ts";
import { Foreign, isOwn, nameOf } from "../own.tsx";
import { givenBy } from "../tokens/made-by.ts";
import { deletionOf, settingOf } from "./actions.tsx";

const EVERY_MS = 30_000;

/** The part `/ui/admin/trust`. */
export function TrustRules() {
  const name = queryOf("rule");
  const known = useLoad({
    key: "trust",
    everyMs: EVERY_MS,
    ask: async (signal) => {
      const [rules, tokens] = await Promise.all([
        ask("listTrustRules", {}, signal),
        ask("listTokens", {}, signal),
      ]);
      return { rules: rules.items, tokens: tokens.items };
    },
  });
  return (
    <>
      {name === "" && <h1>Trust rules</h1>}
      <Trouble error={known.error} again={known.again} />
      {known.value && (
        <Settled isStale={known.isStale}>
          {name === "" ? (
            <List rules={known.value.rules} />
          ) : (
            <One name={name} rules={known.value.rules} tokens={known.value.tokens} again={known.again} />
          )}
        </Settled>
      )}
      {name === "" && isSettled(known) && <Actions actions={[settingOf(undefined, known.again)]} />}
    </>
  );
}

function List({ rules }: { rules: readonly TrustRule[] }) {
  if (rules.length === 0) {
    return (
      <Nothing
        why="There is no trust rule yet. With one, jobs of GitHub and others need no stored token."
        type="drover trust set ci --issuer github --claim repository_id=1296269 --preset submitter"
      />
    );
  }
  return (
    <>
      <Scroll label="Trust rules">
        <table>
          <Heads of={["Rule", "Issuer", "Claims", "May", "Valid for", "Made"]} />
          <tbody>
            {pageOf(rules).map((rule) => (
              <tr key={nameOf(rule)}>
                <td>
                  <a href={adminHref("trust", nameOf(rule))}>{nameOf(rule)}</a>
                </td>
                <td>{rule.issuer}</td>
                <td class="lines">{asLines(rule.claims)}</td>
                <td>{rule.scopes.join(" ")}</td>
                <td>{rule.lifetime}</td>
                <td>
                  <Moment at={rule.createdAt} /> by {rule.createdBy}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <Pages count={rules.length} label="Pages of the list" />
    </>
  );
}

interface OneProps {
  name: string;
  rules: readonly TrustRule[];
  tokens: readonly Token[];
  again: () => void;
}

function One({ name, rules, tokens, again }: OneProps) {
  const rule = rules.find((one) => nameOf(one) === name);
  if (rule === undefined)
    return <Nothing why={`There is no trust rule ${name}. It may have been deleted.`} />;
  const given = givenBy(rule, tokens);
  return (
    <>
      <h1>
        Trust rule <span class="name">{name}</span>
      </h1>
      <Facts rule={rule} />
      <h2>Claims that a token must have</h2>
      <Long label="Claims" text={asLines(rule.claims)} />
      <h2>Labels that its runs get, each from a claim</h2>
      <Long label="Labels" text={asLines(rule.labels) || "none: its tokens see all runs"} />
      {isOwn(rule) ? (
        <Actions actions={[settingOf(rule, again), deletionOf(rule, given, again)]} />
      ) : (
        <Foreign {...rule} />
      )}
      <p>
        <a href={historyHref({ target: rule.name, action: "trust" })}>Who changed it</a>
      </p>
      <h2>Valid tokens that it gave</h2>
      {given.length === 0 ? (
        <p>None.</p>
      ) : (
        <ul>
          {given.map((token) => (
            <li key={token.id}>
              <a href={adminHref("tokens", token.id)}>{token.name}</a>, until <Moment at={token.expiresAt} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Facts({ rule }: { rule: TrustRule }) {
  return (
    <dl class="facts each">
      <dt>Issuer</dt>
      <dd>{rule.issuer}</dd>
      <dt>Audience</dt>
      <dd>{rule.audience}</dd>
      <dt>May</dt>
      <dd>{rule.scopes.join(" ")}</dd>
      <dt>Limits</dt>
      <dd>{limitsText(rule.limits) || "none"}</dd>
      <dt>Valid for</dt>
      <dd>{rule.lifetime}</dd>
      <dt>Made</dt>
      <dd>
        <Moment at={rule.createdAt} /> by {rule.createdBy}
      </dd>
      <dt>Ends</dt>
      <dd>{rule.expiresAt === null ? "when deleted" : <Moment at={rule.expiresAt} />}</dd>
    </dl>
  );
}
