// Who sends a request, and what may they do (access.md)?
import type { Acting, Budget, TokenGrant } from "../../objects/rpc.ts";
import type { TokenLimits } from "../../schema/access/token.ts";
import { DEFAULT_PROJECT, nameIn } from "../../shared/access/project.ts";
import { BREAK_GLASS, BREAK_GLASS_NAME, type Scope } from "../../shared/access/scopes.ts";
import type { Instant } from "../../shared/machine.ts";

/** The sender of an authenticated request. */
export interface Caller {
  /** How events, aborts and the audit log name the caller (access.md#actors). */
  by: string;
  /** The project behind whose wall the caller is. Null: there is no wall (projects.md#callers). */
  project: string | null;
  scopes: readonly Scope[];
  limits: TokenLimits;
  /** The budget from which its runs are paid; null: none (projects.md#budgets-of-tokens). */
  budget: Budget | null;
  expiresAt: Instant | null;
  /** The id of the caller's token; absent for the Worker's own secret. */
  token?: string;
  /** The caller is a browser with a session's cookie. Absent: the caller sent a token. */
  isSession?: true;
  /** The digest of the secret that the caller sent or, in a session, of the one that started the session. */
  secret: string;
}

/** What decides which things exist for a caller (access.md#walls). */
export type Wall = Pick<Caller, "project" | "limits">;

/** The holder of the Worker's own secret, who may always do everything (access.md#break-glass). */
export function adminCaller(secret: string): Caller {
  return {
    by: BREAK_GLASS_NAME,
    project: null,
    scopes: [BREAK_GLASS],
    limits: {},
    budget: null,
    expiresAt: null,
    secret,
  };
}

/** The holder of a token. `expiresAt`: when the secret that the caller sent expires. */
export function callerOf(
  { id, name, project, rule, scopes, limits, payer }: TokenGrant,
  secret: string,
  expiresAt: Instant | null,
): Caller {
  const { maxCostPerHour } = limits;
  return {
    by: rule === null ? `token:${nameIn(project, name, ":")}` : name,
    project,
    scopes,
    limits,
    budget: maxCostPerHour === undefined ? null : { payer, perHour: maxCostPerHour },
    expiresAt,
    token: id,
    secret,
  };
}

/**
 * The holder of a session: its owner, under a name that shows the session (access.md#actors). What the holder
 * creates may outlive the session, but not the owner's secret.
 */
export function sessionCaller(owner: Caller): Caller {
  const name = owner.by.slice(owner.by.indexOf(":") + 1);
  return { ...owner, by: `session:${name}`, isSession: true };
}

/** What a run stores about the caller who submits it. */
export interface Submitter {
  by: string;
  project: string;
  budget: Budget | null;
}

/** The project in which a caller makes things: a caller without a wall acts in `default`. */
export function projectOf({ project }: Pick<Caller, "project">): string {
  return project ?? DEFAULT_PROJECT;
}

/** A caller as the registry must know it to judge a change of a pool (projects.md#pools). */
export function actingOf({ by, project }: Caller): Acting {
  return { by, project };
}

/** Something that a caller calls by this name. */
export function namedBy(caller: Pick<Caller, "project">, name: string): { project: string; name: string } {
  return { project: projectOf(caller), name };
}

/** The caller as the submitter of runs: a caller without a wall acts in `default` (projects.md#callers). */
export function submitterOf({ by, project, budget }: Caller): Submitter {
  return { by, project: projectOf({ project }), budget };
}
