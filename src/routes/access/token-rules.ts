// Which tokens may a caller make and change (access.md#tokens)?
import type { Token, TokenLimits } from "../../schema/access/token.ts";
import { DEFAULT_PROJECT } from "../../shared/access/project.ts";
import {
  BREAK_GLASS,
  grants,
  PRESETS,
  type Preset,
  SCOPES_OF_ALL,
  SCOPES_OF_RUNS,
  type Scope,
} from "../../shared/access/scopes.ts";
import { DroverError, type FieldError } from "../../shared/errors.ts";
import type { Caller } from "./caller.ts";

/** The scopes of a preset that the limits can confine (access.md#presets). */
export function scopesOfPreset(preset: Preset | undefined, limits: TokenLimits): readonly Scope[] {
  const scopes: readonly Scope[] = preset === undefined ? [] : PRESETS[preset];
  const usable = scopes.filter((scope) => scope !== "secrets:use" || !isOpenToAllSecrets(limits));
  return limits.labels === undefined ? usable : usable.filter((scope) => SCOPES_OF_RUNS.includes(scope));
}

/** Whether the token is limited to some runs, and its runs could get every secret all the same. */
function isOpenToAllSecrets({ pools, labels, secrets }: TokenLimits): boolean {
  return (pools !== undefined || labels !== undefined) && secrets === undefined;
}

/** What is wrong with scopes and limits in a project, whoever asks for them (access.md#limits). */
export function faultsOf(scopes: readonly Scope[], limits: TokenLimits, project: string): FieldError[] {
  const { pools, labels, secrets } = limits;
  const at = (detail: string) => [{ pointer: "/scopes", detail }];
  if (scopes.length === 0) return at("is empty: name scopes, or a preset");
  const shared = scopes.filter((scope) => !SCOPES_OF_RUNS.includes(scope));
  if (labels !== undefined && shared.length > 0) {
    return at(`has ${shared.join(", ")}, which no limit to labels confines: leave out those or the labels`);
  }
  const total = scopes.filter((scope) => SCOPES_OF_ALL.includes(scope));
  if (pools !== undefined && total.length > 0) {
    return at(`has ${total.join(", ")}, which no limit to pools confines: leave out those or the pools`);
  }
  if (project !== DEFAULT_PROJECT && scopes.includes("projects:write"))
    return at(`has projects:write, which only tokens of the project ${DEFAULT_PROJECT} can have`);
  const usesSecrets = scopes.includes("secrets:use");
  if (usesSecrets && isOpenToAllSecrets(limits)) {
    return at("has secrets:use, which only a limit to secrets confines: add one, or leave it out");
  }
  if (secrets !== undefined && !usesSecrets) {
    return [{ pointer: "/limits/secrets", detail: "confines nothing without the scope secrets:use" }];
  }
  return [];
}

/** What a token would have that its creator lacks (access.md#tokens). */
export function excessOf(scopes: readonly Scope[], limits: TokenLimits, caller: Caller): FieldError[] {
  const lacking = scopes.filter((scope) => !grants(caller.scopes, scope));
  const faults: FieldError[] =
    lacking.length === 0
      ? []
      : [{ pointer: "/scopes", detail: `has ${lacking.join(", ")}, which ${caller.by} does not have` }];
  for (const [name, isNarrower] of Object.entries(NARROWER)) {
    // Without the scope, no limit to secrets is needed, and none is accepted.
    if (name === "secrets" && !scopes.includes("secrets:use")) continue;
    if (isNarrower(limits, caller.limits)) continue;
    faults.push({ pointer: `/limits/${name}`, detail: `must be as narrow as that of ${caller.by}` });
  }
  return faults;
}

/**
 * Throws `beyond_limits` if a token may do more than the caller, or is valid for longer. A rotation would let
 * the caller take the token's place.
 */
export function refuseExcess({ scopes, limits, name, expiresAt, payer }: Token, caller: Caller): void {
  const end = expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
  const lasts = end > (caller.expiresAt ?? Number.POSITIVE_INFINITY);
  // With a token of another budget the caller would have a second one.
  const paysElse = caller.budget !== null && payer !== caller.budget.payer;
  if (!lasts && !paysElse && excessOf(scopes, limits, caller).length === 0) return;
  throw new DroverError("beyond_limits", `the token "${name}" may do more than ${caller.by}, or for longer`);
}

/** For each limit: whether the first is as narrow as the second. */
const NARROWER: Record<keyof TokenLimits, (one: TokenLimits, other: TokenLimits) => boolean> = {
  pools: (one, { pools }) => pools === undefined || one.pools?.every((pool) => pools.includes(pool)) === true,
  labels: (one, { labels = {} }) =>
    Object.entries(labels).every(([name, value]) => one.labels?.[name] === value),
  maxPriority: (one, { maxPriority = Number.POSITIVE_INFINITY }) =>
    (one.maxPriority ?? Number.POSITIVE_INFINITY) <= maxPriority,
  maxCostPerHour: (one, { maxCostPerHour = Number.POSITIVE_INFINITY }) =>
    (one.maxCostPerHour ?? Number.POSITIVE_INFINITY) <= maxCostPerHour,
  secrets: (one, { secrets }) =>
    secrets === undefined || one.secrets?.every((name) => secrets.includes(name)) === true,
  // Networks are compared as texts: a token that is limited to some can only hand on those.
  sources: (one, { sources }) =>
    sources === undefined || one.sources?.every((source) => sources.includes(source)) === true,
};

/**
 * Throws `beyond_limits` if a session acts for somebody who may do more than the caller. `token`: the token
 * that the session acts for; null: the session acts for the holder of the Worker's own secret.
 */
export function refuseSessionExcess(token: Token | null, caller: Caller): void {
  if (token !== null) refuseExcess(token, caller);
  else if (!grants(caller.scopes, BREAK_GLASS))
    throw new DroverError("beyond_limits", `this session may do more than ${caller.by}`);
}

/** The earlier of two ends; null: never. */
export function earlier(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}
