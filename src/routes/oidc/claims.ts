// Does a rule accept the claims of a token, and what follows from them (oidc.md#trust-rules)?
import type { TrustRow } from "../../objects/rpc.ts";
import type { TokenLimits } from "../../schema/access/token.ts";
import { TextMap } from "../../schema/run/task.ts";
import { nameIn } from "../../shared/access/project.ts";
import { DroverError } from "../../shared/errors.ts";
import { profileOf } from "./issuers.ts";

/** The claims of a verified token. */
export type Claims = Readonly<Record<string, unknown>>;

/** The longest name of a caller, and the longest value of a claim that an error shows. */
const MAX_SUBJECT_CHARS = 128;
const MAX_SHOWN_CHARS = 80;

/** Whether a text matches a pattern, in which `*` stands for any characters. Takes time linear in both. */
export function matches(pattern: string, text: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return text === pattern;
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last))
    return false;
  let at = first.length;
  const end = text.length - last.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found === -1 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}

/** Whether every claim that a rule names has a value that matches. Of a list, one entry is enough. */
export function accepts({ claims: wanted }: Pick<TrustRow, "claims">, claims: Claims): boolean {
  return Object.entries(wanted).every(([name, pattern]) =>
    textsOf(claims, name).some((text) => matches(pattern, text)),
  );
}

/**
 * The limits of a token that a rule gives: its own, and the labels that it forces (oidc.md#trust-rules).
 * Throws `not_trusted` if the token lacks a claim for a label, or has one that no label can hold.
 */
export function limitsFrom({ name, limits, labels: wanted }: TrustRow, claims: Claims): TokenLimits {
  if (Object.keys(wanted).length === 0) return limits;
  const labels: Record<string, string> = { ...limits.labels };
  for (const [label, claim] of Object.entries(wanted)) {
    const value = textOf(claims, claim);
    if (value === undefined) {
      const text = `the trust rule "${name}" needs the claim "${claim}" for the label "${label}"`;
      throw new DroverError("not_trusted", `${text}, and the token has no text or number there`);
    }
    labels[label] = value;
  }
  const checked = TextMap.safeParse(labels);
  if (checked.success) return { ...limits, labels };
  const text = `the claims of the token do not fit into the labels of the trust rule "${name}"`;
  throw new DroverError("not_trusted", `${text}: ${checked.error.issues[0]?.message ?? "they are too long"}`);
}

/**
 * How events name the holder of a token that a rule gave: `oidc:<rule>/<who>` (oidc.md#names). Characters
 * that could be mistaken for something else become `_`.
 */
export function nameFrom(
  { name, project, issuer }: Pick<TrustRow, "name" | "project" | "issuer">,
  claims: Claims,
): string {
  const subject = profileOf(issuer)
    .subjects.map((claim) => textOf(claims, claim))
    .find((text) => text !== undefined);
  const who = (subject ?? "unnamed").replace(/[^\w.:/@+-]/g, "_").slice(0, MAX_SUBJECT_CHARS);
  return `oidc:${nameIn(project, name, ":")}/${who}`;
}

/**
 * Those claims of a token by which the rules of its issuer decide, as text for its sender, who has them
 * anyway. What the rules want there is not shown.
 */
export function shownClaims(issuer: string, rules: readonly TrustRow[], claims: Claims): string {
  const named = rules.flatMap((rule) => Object.keys(rule.claims));
  const names = new Set([...profileOf(issuer).owners, ...named.sort(), "sub"]);
  const shown = [...names].flatMap((name) => {
    const text = textOf(claims, name);
    return text === undefined ? [] : [`${name} ${JSON.stringify(text.slice(0, MAX_SHOWN_CHARS))}`];
  });
  return shown.length === 0 ? "none of the claims that the rules name" : shown.join(", ");
}

/** The value of a claim as a text; undefined if it is absent, a list or an object. */
function textOf(claims: Claims, name: string): string | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  return isScalar(value) ? String(value) : undefined;
}

/** The texts that a claim has: its value or, of a list, each entry. */
function textsOf(claims: Claims, name: string): string[] {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  return (Array.isArray(value) ? value : [value]).filter(isScalar).map(String);
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}
