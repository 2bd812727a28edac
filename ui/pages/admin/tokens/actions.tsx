// What can a reader do about tokens: create, rotate, revoke (access.md#tokens)?
import type { Signal } from "@preact/signals";
import type { NewToken, Session, Token } from "../../../../src/generated/api.ts";
import { callOf } from "../../../api/send.ts";
import type { Action } from "../../../parts/acts/act.tsx";
import { LinesField, NumberField, TextField } from "../../../parts/acts/field.tsx";
import { flagsOf, numberOf, pairsOf, textOf, wordsOf } from "../../../parts/acts/given.ts";
import { droverOf } from "../../../parts/as-text.ts";
import type { Shown } from "../../../parts/once.tsx";
import { AccessFields, accessFlags, accessOf } from "../access.tsx";
import type { Made } from "./made-by.ts";

const scope = "tokens:write";

/** What ends with a token, or can end with it. */
interface Ending {
  made: Made;
  sessions: readonly Session[];
}

/** Creates a token, and shows it once. */
export function creationOf(once: Signal<Shown | undefined>, again: () => void): Action {
  return {
    verb: "Create token",
    question: "Create a token?",
    effect:
      "It is shown once. It can do at most what you can do, and ends with your own token at the latest.",
    ends: false,
    scope,
    fields: (
      <>
        <TextField
          label="Name"
          name="name"
          hint="whose it is, or what for: events name it"
          required
          autofocus
        />
        <AccessFields />
        <LinesField
          label="Labels"
          name="label"
          hint="lines name=value: its runs get them, and others do not exist for it"
        />
        <TextField label="Secrets" name="secret" hint="its runs get only these; empty: as its scopes say" />
        <NumberField
          label="Cost per hour"
          name="maxCost"
          hint="what its runs may cost at most in each pool"
        />
        <TextField label="Valid for" name="expires" hint="such as 30d; empty: until it is revoked" />
      </>
    ),
    call: (given) => callOf("createToken", { body: bodyOf(given) }),
    drover: (given) => commandOf(bodyOf(given)),
    async done(response) {
      // The answer is made by the schema of this route.
      const { name, token } = (await response.json()) as NewToken;
      once.value = { what: `The token ${name}`, text: token };
      again();
    },
  };
}

function bodyOf(given: FormData) {
  const { limits, ...access } = accessOf(given);
  return {
    name: textOf(given, "name") ?? "",
    ...access,
    limits: {
      ...limits,
      labels: pairsOf(given, "label"),
      secrets: wordsOf(given, "secret"),
      maxCostPerHour: numberOf(given, "maxCost"),
    },
    expiresIn: textOf(given, "expires"),
  };
}

function commandOf({ name, limits, expiresIn, ...access }: ReturnType<typeof bodyOf>): string {
  const labels = Object.entries(limits.labels ?? {}).map(([label, value]) => `${label}=${value}`);
  return droverOf(
    ...["tokens", "create", "--name", name],
    ...accessFlags({ ...access, limits }),
    ...flagsOf("--label", labels),
    ...flagsOf("--secret", limits.secrets ?? []),
    ...flagsOf("--max-cost", [limits.maxCostPerHour]),
    ...flagsOf("--expires", [expiresIn]),
  );
}

/** The actions that fit the state of a token. `again` asks for the tokens anew. */
export function actionsOf(
  token: Token,
  ending: Ending,
  once: Signal<Shown | undefined>,
  again: () => void,
): Action[] {
  const isActive = token.state === "active";
  const hasMade = ending.made.tokens.length + ending.made.rules.length > 0;
  return [
    ...(isActive && token.rule === null ? [rotationOf(token, once, again)] : []),
    ...(isActive ? [revocationOf(token, ending, again)] : []),
    ...(hasMade ? [fullRevocationOf(token, ending, again)] : []),
  ];
}

function rotationOf({ id, name }: Token, once: Signal<Shown | undefined>, again: () => void): Action {
  const overlapOf = (given: FormData) => textOf(given, "overlap");
  return {
    verb: "Rotate",
    question: `Give ${name} another secret?`,
    effect: "The new one is shown once. The present one stays valid for the overlap, and then ends.",
    ends: true,
    scope,
    fields: (
      <TextField label="Overlap" name="overlap" value="1h" hint="0s ends the present one at once" autofocus />
    ),
    call: (given) => callOf("rotateToken", { path: { id }, body: { overlap: overlapOf(given) } }),
    drover: (given) => droverOf("tokens", "rotate", id, ...flagsOf("--overlap", [overlapOf(given)])),
    async done(response) {
      // The answer is made by the schema of this route.
      const { token } = (await response.json()) as NewToken;
      once.value = { what: `The new secret of ${name}`, text: token };
      again();
    },
  };
}

function revocationOf({ id, name }: Token, { made, sessions }: Ending, again: () => void): Action {
  const lives = namesOf(made);
  return {
    verb: "Revoke",
    question: `Revoke ${name} for good?`,
    effect:
      `It is refused everywhere within 30 s. ${browsersOf(sessions)}` +
      (lives === "" ? "It has made nothing else that is valid." : `What it has made lives on: ${lives}.`),
    ends: true,
    scope,
    call: () => callOf("revokeToken", { path: { id } }),
    drover: droverOf("tokens", "revoke", id),
    done: again,
  };
}

function fullRevocationOf({ id, name }: Token, { made, sessions }: Ending, again: () => void): Action {
  return {
    verb: "Revoke with all it made",
    question: `Revoke ${name} and what it has made, for good?`,
    effect: `With it ends ${namesOf(made)}. ${browsersOf(sessions)}All are refused everywhere within 30 s.`,
    ends: true,
    scope,
    call: () => callOf("revokeToken", { path: { id }, query: { children: "1" } }),
    drover: droverOf("tokens", "revoke", id, "--with-children"),
    done: again,
  };
}

function browsersOf(sessions: readonly Session[]): string {
  if (sessions.length === 0) return "";
  return sessions.length === 1
    ? "The browser that is signed in with it is signed out. "
    : `The ${sessions.length} browsers that are signed in with it are signed out. `;
}

function namesOf({ tokens, rules }: Made): string {
  return [
    ...tokens.map(({ name }) => `token ${name}`),
    ...rules.map(({ name }) => `trust rule ${name} with the tokens that it gave`),
  ].join(", ");
}
