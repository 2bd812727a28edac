// Does a request carry a valid token or session, and does this allow the request (access.md)?
import { createMiddleware } from "hono/factory";
import type { PoolRef, SessionGrant, TokenGrant } from "../../objects/rpc.ts";
import { isFrom } from "../../schema/access/networks.ts";
import { grants, type Scope } from "../../shared/access/scopes.ts";
import { parseToken, SESSION_PREFIX } from "../../shared/access/token-text.ts";
import { DroverError } from "../../shared/errors.ts";
import { contentDigest, isSame } from "../../signing/mac.ts";
import type { Access } from "../access/access.ts";
import { adminCaller, type Caller, callerOf, sessionCaller } from "../access/caller.ts";
import { withinProject } from "../access/chosen-project.ts";
import type { GrantDirectory } from "../access/grant-directory.ts";
import { refuseCrossSite, sessionSecretOf } from "../access/session-cookie.ts";
import type { EdgeContext, EdgeTypes } from "../edge.ts";
import { selectedPools } from "../walls/pool-directory.ts";
import { limitsRuns, mayUsePool } from "../walls/run-limits.ts";
import { standingOf, standings } from "../walls/standing.ts";
import { walledObjects } from "../walls/walls.ts";
import { noteDenied } from "./denied.ts";
import { addressOf, judged, judgedAgain, refuseHaste } from "./limits.ts";

const BEARER = /^Bearer +([\w.~+/=-]+)$/i;

/**
 * Admits requests with the Worker's own secret, a valid token (access.md#tokens) or the cookie of a session
 * (sessions.md), and gives each request the objects as they exist for its caller (access.md#walls). A text
 * that cannot be a token is refused without a call to an object (access.md#rate-limits). Codes:
 * `unauthorized`, `beyond_limits`, `too_many_requests`, `cross_site`.
 */
export function requireToken(access: Access) {
  return createMiddleware<EdgeTypes>(async (c, next) => {
    const cookie = c.req.header("authorization") === undefined ? sessionSecretOf(c) : undefined;
    if (cookie !== undefined) refuseCrossSite(c);
    const text = cookie ?? bearerOf(c);
    const identify = () => (cookie === undefined ? holderWith(c, access, text) : ownerWith(c, access, text));
    const holder = await identify();
    await refuseElsewhere(c, holder);
    const caller = await withinProject(c, access, holder);
    c.set("caller", caller);
    setWalls(c, caller, async () => void (await identify()));
    if (caller.by === "admin") return next();
    const rate = refuseHaste(c, access, caller);
    await next();
    await noteDenied(c, caller, c.error);
    for (const [name, value] of rate) c.res.headers.set(name, value);
  });
}

/** Gives a request the objects and pools as they exist for its caller (access.md#walls). */
function setWalls(c: EdgeContext, caller: Caller, confirm: () => Promise<void>): void {
  const { project, limits } = caller;
  const all = c.var.pools;
  if (project !== null || limitsRuns(limits)) {
    const exists = (pool: PoolRef) => mayUsePool(limits, pool.name) && standingOf(pool, project) !== "none";
    c.set("pools", selectedPools(all, exists));
  }
  if (caller.by !== "admin" || project !== null)
    c.set("objects", walledObjects(c.env.objects, caller, standings(all, project), confirm));
}

/**
 * Refuses a caller whose token is not accepted from where the request comes (access.md#limits), and tells the
 * audit log. Code: `beyond_limits`.
 */
export async function refuseElsewhere(c: EdgeContext, caller: Caller): Promise<void> {
  const { sources } = caller.limits;
  const address = addressOf(c);
  if (sources === undefined || isFrom(sources, address)) return;
  const from = address === "" ? "an unknown address" : address;
  const error = new DroverError("beyond_limits", `this token is not accepted from ${from}`);
  await noteDenied(c, caller, error);
  throw error;
}

/** Refuses callers without the scope that an operation needs (access.md#scopes). Code: `missing_scope`. */
export function requireScope(scope: Scope) {
  return createMiddleware<EdgeTypes>(async (c, next) => {
    const { by, scopes } = c.var.caller;
    if (!grants(scopes, scope)) {
      const text = `this needs the scope ${scope}, and ${by} has ${scopes.join(", ") || "none"}`;
      throw new DroverError("missing_scope", text);
    }
    await next();
  });
}

/** The token in the header of a request. Throws `unauthorized` if there is none. */
export function bearerOf(c: EdgeContext): string {
  const header = c.req.header("authorization");
  if (header === undefined) {
    throw new DroverError(
      "unauthorized",
      'this request needs a token; send it in the header "Authorization: Bearer <token>"',
    );
  }
  const token = BEARER.exec(header)?.[1];
  if (token !== undefined) return token;
  throw new DroverError("unauthorized", 'the header "Authorization" must read "Bearer <token>"');
}

/** The holder of a token or of the Worker's own secret. Throws if the text is not valid here and now. */
export async function holderWith(c: EdgeContext, access: Access, text: string): Promise<Caller> {
  if (isSameSecret(text, c.env.adminToken)) return adminCaller(contentDigest(text));
  const parsed = parseToken(text);
  if (parsed.kind !== "token") throw new DroverError("unauthorized", WHAT_IS_WRONG[parsed.kind]);
  const secret = { id: parsed.id, digest: contentDigest(text) };
  const holder = await valid(c, access, access.tokens, secret, (grant) => holderOf(grant, secret.digest, c));
  if (holder !== undefined) return holder;
  throw new DroverError(
    "unauthorized",
    "this token is not valid here: it was revoked or has expired, or it belongs to another Drover",
  );
}

/** The holder of the session with this secret. Throws if the session has ended, or its owner's token has. */
async function ownerWith(c: EdgeContext, access: Access, text: string): Promise<Caller> {
  const parsed = parseToken(text, SESSION_PREFIX);
  if (parsed.kind === "token") {
    const secret = { id: parsed.id, digest: contentDigest(text) };
    const owner = await valid(c, access, access.sessions, secret, (grant) =>
      ownerOf(grant, secret.digest, c),
    );
    if (owner !== undefined) return sessionCaller(owner);
  }
  throw new DroverError("unauthorized", "this session has ended; sign in again");
}

/**
 * The holder of a secret, by what is remembered or by a look-up. A secret that was valid a moment ago is
 * looked up whatever others at its address have sent, and counts only if it has ended; other secrets count as
 * wrong until the look-up shows that they are valid (access.md#rate-limits). Requests that come with the same
 * secret meanwhile share the look-up. Undefined: the secret is not valid. Code: `too_many_requests`.
 */
async function valid<Grant>(
  c: EdgeContext,
  { guesses }: Access,
  directory: GrantDirectory<Grant>,
  { id, digest }: { id: string; digest: string },
  holder: (grant: Grant | null | undefined) => Caller | undefined,
): Promise<Caller | undefined> {
  const remembered = directory.remembered(id, c.env.now());
  const known = holder(remembered);
  if (known !== undefined) return known;
  const guess = { kind: guesses.token, secret: digest };
  const isShared = () => directory.isAsked(digest, c.env.now());
  const lookUp = async () => {
    const found = holder(await directory.shared(id, c.env, digest));
    // The registry does not know of a replaced break-glass secret, and still answers with its sessions.
    if (found === undefined) directory.unlearn(id, digest);
    return found;
  };
  if (directory.hasKnown(id, digest)) return judgedAgain(c, guess, lookUp, isShared);
  // What is remembered may be from before a rotation. That nothing is valid under this id is remembered, too.
  if (remembered === null) return judged(c, guess, async () => undefined);
  return judged(c, guess, lookUp, isShared);
}

/** The owner of a session with this grant; undefined if the session, or the owner's secret, is not valid. */
function ownerOf(grant: SessionGrant | null | undefined, digest: string, c: EdgeContext): Caller | undefined {
  if (!grant || !isSame(grant.digest, digest) || grant.until <= c.env.now()) return undefined;
  const { secret } = grant.owner;
  if (grant.token !== null) return holderOf(grant.token, secret, c);
  const { adminToken } = c.env;
  return adminToken !== "" && isSame(secret, contentDigest(adminToken)) ? adminCaller(secret) : undefined;
}

/** The holder of a token with this grant; undefined if the secret is not one of its valid ones. */
function holderOf(grant: TokenGrant | null | undefined, digest: string, c: EdgeContext): Caller | undefined {
  const secret = grant?.digests.find((one) => isSame(one.digest, digest));
  if (!grant || secret === undefined || (secret.until !== null && secret.until <= c.env.now())) {
    return undefined;
  }
  return callerOf(grant, digest, secret.until);
}

const WHAT_IS_WRONG = {
  typo: "this token has a typing error: its checksum does not match; copy it again",
  cut: "this token is incomplete, or has something added: it must be drv_ and 48 letters and digits",
  other: "this token is not valid here; it may belong to another Drover",
};

/**
 * Compares digests in constant time. An empty secret matches nothing, so a Worker without a token refuses
 * every request.
 */
function isSameSecret(given: string, secret = ""): boolean {
  return secret !== "" && isSame(contentDigest(given), contentDigest(secret));
}
