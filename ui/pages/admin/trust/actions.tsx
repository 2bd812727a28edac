// What can a reader do about trust rules: create, change, delete (oidc.md#trust-rules)?
import type { Token, TrustRule } from "../../../../src/generated/api.ts";
import { limitsText } from "../../../../src/shared/access/limits-text.ts";
import { callOf } from "../../../api/send.ts";
import type { Action } from "../../../parts/acts/act.tsx";
import { LinesField, TextField } from "../../../parts/acts/field.tsx";
import { asLines, flagsOf, pairsOf, textOf, ticksOf } from "../../../parts/acts/given.ts";
import { droverOf } from "../../../parts/as-text.ts";
import { go } from "../../../router/place.ts";
import { AccessFields, accessFlags, accessOf } from "../access.tsx";

const scope = "tokens:write";
const GITHUB = "https://token.actions.githubusercontent.com";

/** Creates a rule, or changes the one that is given: a rule is always sent whole. */
export function settingOf(rule: TrustRule | undefined, again: () => void): Action {
  const nameOf = (given: FormData) => rule?.name ?? textOf(given, "name") ?? "";
  const kept = limitsText(otherLimits(rule));
  return {
    verb: rule === undefined ? "Create rule" : "Change",
    question: rule === undefined ? "Create a trust rule?" : `Change the trust rule ${rule.name}?`,
    effect:
      "Whoever has a token of the issuer with these claims gets a token of this Drover. Tokens that were " +
      "given before stay as they are.",
    ends: false,
    scope,
    fields: (
      <>
        {rule === undefined && (
          <TextField label="Name" name="name" hint="events name it" required autofocus />
        )}
        <TextField
          label="Issuer"
          name="issuer"
          value={rule?.issuer ?? GITHUB}
          hint="exactly as iss in its tokens"
          required
        />
        <TextField
          label="Audience"
          name="audience"
          value={rule?.audience ?? ""}
          hint="what aud must be; empty: the URL of this Drover"
        />
        <LinesField
          label="Claims"
          name="claim"
          value={rule === undefined ? "" : asLines(rule.claims)}
          hint="lines name=value, such as repository_id=1296269; a token must have all; * is any characters"
          required
        />
        <AccessFields scopes={rule?.scopes ?? []} limits={rule?.limits ?? {}} />
        {kept !== "" && (
          <p>
            Limits that stay unchanged: {kept}. drover trust set cannot say them, and would take them away.
          </p>
        )}
        <LabelFields rule={rule} />
        <TextField
          label="Tokens valid for"
          name="lifetime"
          value={rule?.lifetime ?? "15m"}
          hint="1m to 24h"
        />
      </>
    ),
    call: (given) => callOf("putTrustRule", { path: { name: nameOf(given) }, body: bodyOf(given, rule) }),
    // The command has no flags for these, and a rule is always replaced whole: it would lose them.
    drover: kept === "" ? (given) => commandOf(nameOf(given), bodyOf(given, rule)) : undefined,
    done: again,
  };
}

function LabelFields({ rule }: { rule: TrustRule | undefined }) {
  return (
    <>
      <LinesField
        label="Labels from claims"
        name="label"
        value={rule === undefined ? "" : asLines(rule.labels)}
        hint="lines label=claim: its runs get them, and it sees no others; empty: what fits the issuer"
      />
      <p>
        <label>
          <input
            type="checkbox"
            name="noLabels"
            value="1"
            defaultChecked={rule !== undefined && Object.keys(rule.labels).length === 0}
          />{" "}
          No labels: its tokens see all runs
        </label>
      </p>
    </>
  );
}

/** The limits of a rule that the form has no field for. */
function otherLimits(rule: TrustRule | undefined): TrustRule["limits"] {
  const { pools: _pools, maxPriority: _priority, sources: _sources, ...others } = rule?.limits ?? {};
  return others;
}

function bodyOf(given: FormData, rule: TrustRule | undefined) {
  const { limits, ...access } = accessOf(given);
  return {
    issuer: textOf(given, "issuer") ?? "",
    audience: textOf(given, "audience"),
    claims: pairsOf(given, "claim") ?? {},
    ...access,
    limits: { ...otherLimits(rule), ...limits },
    labels: ticksOf(given, "noLabels").length > 0 ? {} : pairsOf(given, "label"),
    lifetime: textOf(given, "lifetime"),
  };
}

function commandOf(name: string, body: ReturnType<typeof bodyOf>): string {
  const { issuer, audience, claims, limits, labels, lifetime, ...access } = body;
  const pairs = (of: Record<string, string> = {}) =>
    Object.entries(of).map(([key, value]) => `${key}=${value}`);
  return droverOf(
    ...["trust", "set", name, "--issuer", issuer],
    ...flagsOf("--claim", pairs(claims)),
    ...flagsOf("--audience", [audience]),
    ...accessFlags({ ...access, limits }),
    ...flagsOf("--label", pairs(labels)),
    ...(labels !== undefined && Object.keys(labels).length === 0 ? ["--no-labels"] : []),
    ...flagsOf("--lifetime", [lifetime]),
  );
}

/** Deletes a rule, and ends the tokens that it gave. */
export function deletionOf({ name }: TrustRule, given: readonly Token[], again: () => void): Action {
  const ended = given.map((token) => token.name).join(", ");
  return {
    verb: "Delete",
    question: `Delete the trust rule ${name}?`,
    effect:
      "No token of the issuer is accepted by it any more. " +
      (ended === "" ? "No token that it gave is valid now." : `The tokens that it gave end: ${ended}.`),
    ends: true,
    scope,
    call: () => callOf("deleteTrustRule", { path: { name } }),
    drover: droverOf("trust", "rm", name),
    done() {
      go("/ui/admin/trust");
      again();
    },
  };
}
