// Which browser sessions exist, and what does each session stand for (sessions.md)?
import type { Session } from "../../schema/access/session.ts";
import { DEFAULT_PROJECT } from "../../shared/access/project.ts";
import { LONGEST_SESSION_MS, SESSION_CODE_MS } from "../../shared/limits.ts";
import { earliest, type Instant, type Millis } from "../../shared/machine.ts";
import { iso } from "../../shared/time/instant.ts";
import type { ReadonlyRows, Rows } from "../rows.ts";
import { tableOf } from "./exchanged.ts";
import { grantOf, type TokenGrant, type TokenRow } from "./tokens.ts";

/** The tables in which the token of a session's owner can be. */
interface TokenTables {
  tokens: ReadonlyRows<TokenRow>;
  exchanged: ReadonlyRows<TokenRow>;
}

/**
 * The most sessions that can exist at the same time, including codes that nobody has used yet: another one
 * ends one of whoever has the most.
 */
export const MAX_SESSIONS = 1_000;
/** The most of these that one owner can have: another one replaces the oldest. */
export const MAX_SESSIONS_OF_OWNER = 20;
/** A session ends after this time without a request. */
export const IDLE_SESSION_MS: Millis = 12 * 3_600_000;
/** A use is written only if it moves the end of the session by this much: one row an hour at most. */
const USE_STEP_MS: Millis = 3_600_000;

/** For whom a session acts: the holder of a token or, with `token: null`, of the break-glass secret. */
export interface SessionOwner {
  token: string | null;
  /**
   * The digest of the secret with which the session was started. The session ends with this secret, so a
   * rotation that ends a stolen secret ends its sessions, too.
   */
  secret: string;
}

/** A stored session. Its secret, and the code that starts it, are stored as digests. */
export interface SessionRow extends SessionOwner {
  id: string;
  /** `code`: nobody has used the code yet. */
  state: "code" | "active";
  /** The digest of the code or, once the session is active, of the secret in the cookie. */
  digest: string;
  /** When the session was started or, before that, when its code was made. */
  startedAt: Instant;
  /** When it was last used, to the hour. */
  usedAt: Instant;
  /** When the session, or the code, ends. */
  until: Instant;
}

/** What the edge must know to judge requests with a session's cookie. */
export interface SessionGrant {
  id: string;
  digest: string;
  until: Instant;
  owner: SessionOwner;
  /** The grant of the owner's token; null: the owner holds the break-glass secret. */
  token: TokenGrant | null;
}

export type SessionEvent =
  | { type: "session_offered"; id: string; owner: SessionOwner; digest: string }
  | { type: "session_started"; id: string; owner: SessionOwner; digest: string }
  | { type: "session_used"; id: string; digest: string }
  | { type: "session_ended"; id: string; by: string };

/** Applies an event of a session to the table (sessions.md#life). */
export function foldSession(
  sessions: Rows<SessionRow>,
  tables: TokenTables,
  event: SessionEvent,
  now: Instant,
): void {
  const { id } = event;
  switch (event.type) {
    case "session_offered":
      makeRoom(sessions, tables, event);
      sessions.set(id, newRow(event, "code", now), now);
      return;
    case "session_started":
      makeRoom(sessions, tables, event);
      sessions.set(id, newRow(event, "active", now), now);
      return;
    case "session_used": {
      const row = sessions.get(id);
      if (row === undefined || row.state !== "active" || row.digest !== event.digest) return;
      const until = activeUntil(row.startedAt, now);
      if (until - row.until >= USE_STEP_MS) sessions.set(id, { ...row, usedAt: now, until }, now);
      return;
    }
    case "session_ended":
      if (sessions.get(id) !== undefined) sessions.delete(id);
  }
}

/**
 * Ends sessions and codes so that there is room for another one (sessions.md#life). An owner who has as many
 * as are allowed makes room for itself. If all together are too many, room is made in the project that has
 * the most, at the owner who has the most there: so nobody is locked out, whatever others do.
 */
function makeRoom(
  sessions: Rows<SessionRow>,
  tables: TokenTables,
  { id, owner }: { id: string; owner: SessionOwner },
): void {
  const others = () => [...sessions.live()].filter((row) => row.id !== id);
  const own = others().filter((row) => row.token === owner.token);
  if (own.length >= MAX_SESSIONS_OF_OWNER) endOldest(sessions, own);
  const all = others();
  if (all.length < MAX_SESSIONS) return;
  const ofProject = largest(all, (row) => projectOf(row, tables) ?? "");
  endOldest(
    sessions,
    largest(ofProject, ({ token }) => token ?? ""),
  );
}

/** The largest of the groups with the same key; of several, the one that has the oldest session. */
function largest(rows: readonly SessionRow[], keyOfRow: (row: SessionRow) => string): SessionRow[] {
  const groups = [...Map.groupBy([...rows].sort(byStart), keyOfRow).values()];
  return groups.reduce((most, group) => (group.length > most.length ? group : most), []);
}

function endOldest(sessions: Rows<SessionRow>, rows: readonly SessionRow[]): void {
  const [oldest] = [...rows].sort(byStart);
  if (oldest !== undefined) sessions.delete(oldest.id);
}

function byStart(a: SessionRow, b: SessionRow): number {
  return a.startedAt - b.startedAt;
}

/** The project of the owner's token; null: the break-glass secret, which is in none. */
function projectOf({ token }: SessionOwner, tables: TokenTables): string | null | undefined {
  return token === null ? null : tableOf(tables, token).get(token)?.project;
}

function newRow(
  { id, owner, digest }: { id: string; owner: SessionOwner; digest: string },
  state: SessionRow["state"],
  now: Instant,
): SessionRow {
  const until = state === "code" ? now + SESSION_CODE_MS : activeUntil(now, now);
  return { ...owner, id, state, digest, startedAt: now, usedAt: now, until };
}

function activeUntil(startedAt: Instant, usedAt: Instant): Instant {
  return Math.min(usedAt + IDLE_SESSION_MS, startedAt + LONGEST_SESSION_MS);
}

/** Removes the sessions whose time is over, and those whose owner's secret is not valid any more. */
export function foldSessionTime(sessions: Rows<SessionRow>, tables: TokenTables, now: Instant): void {
  for (const row of [...sessions.live()]) {
    if (row.until <= now || ownerGrant(row, tables, now) === undefined) sessions.delete(row.id);
  }
}

/** When the next session or code ends. */
export function sessionEndsAt(sessions: ReadonlyRows<SessionRow>): Instant | undefined {
  return earliest(...[...sessions.live()].map(({ until }) => until));
}

/** The grant of the owner's token; null: the break-glass secret; undefined: the owner's secret has ended. */
function ownerGrant(
  { token, secret }: SessionOwner,
  tables: TokenTables,
  now: Instant,
): TokenGrant | null | undefined {
  if (token === null) return null;
  const grant = grantOf(tableOf(tables, token), token, now);
  const isValid = grant?.digests.some(({ digest }) => digest === secret) === true;
  return isValid && grant !== null ? grant : undefined;
}

/** The grant of an active session. Null: there is no active session with this id. */
export function sessionGrantOf(
  sessions: ReadonlyRows<SessionRow>,
  tables: TokenTables,
  id: string,
  now: Instant,
): SessionGrant | null {
  const row = sessions.get(id);
  if (row === undefined || row.state !== "active" || row.until <= now) return null;
  const grant = ownerGrant(row, tables, now);
  if (grant === undefined) return null;
  const { digest, until, token, secret } = row;
  return { id, digest, until, owner: { token, secret }, token: grant };
}

/** The owner of a code that can start a session now; undefined: it was used, is too old, or never existed. */
export function offeredTo(
  sessions: ReadonlyRows<SessionRow>,
  id: string,
  digest: string,
  now: Instant,
): SessionOwner | undefined {
  const row = sessions.get(id);
  if (row === undefined || row.state !== "code" || row.digest !== digest || row.until <= now)
    return undefined;
  return { token: row.token, secret: row.secret };
}

/** The active sessions, latest start first. */
export function sessionViews(
  sessions: ReadonlyRows<SessionRow>,
  tables: TokenTables,
  project: string | null,
): Session[] {
  const shownIn = (row: SessionRow) => (row.token === null ? DEFAULT_PROJECT : projectOf(row, tables));
  return [...sessions.live()]
    .filter((row) => row.state === "active" && (project === null || shownIn(row) === project))
    .sort((a, b) => b.startedAt - a.startedAt)
    .map(({ id, token, startedAt, usedAt, until }) => ({
      id,
      token,
      name: token === null ? "admin" : (tableOf(tables, token).get(token)?.name ?? token),
      startedAt: iso(startedAt),
      lastUsedAt: iso(usedAt),
      expiresAt: iso(until),
    }));
}
