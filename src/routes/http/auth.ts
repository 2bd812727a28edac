// Does a request carry a valid token, and does this token allow the request (access.md)?
import { createMiddleware } from "hono/factory";
import type { TokenGrant } from "../../objects/rpc.ts";
import { isFrom } from "../../schema/access/networks.ts";
import { grants, type Scope } from "../../shared/access/scopes.ts";
import { parseToken } from "../../shared/access/token-text.ts";
import { DroverError } from "../../shared/errors.ts";
import type { RateVerdict } from "../../shared/time/rate.ts";
import { contentDigest, isSame } from "../../signing/mac.ts";
import type { Access, RateLimiter } from "../access/access.ts";
import { ADMIN, type Caller, callerOf } from "../access/caller.ts";
import { walledObjects } from "../access/walls.ts";
import type { EdgeContext, EdgeTypes } from "../edge.ts";
import { setRateHeaders } from "./rate-headers.ts";

const BEARER = /^Bearer +([\w.~+/=-]+)$/i;

/**
 * Admits requests with the Worker's own secret or a valid token (access.md#tokens), and gives each request
 * the objects as they exist for its caller (access.md#walls). A text that cannot be a token is refused
 * without a call to an object (access.md#rate-limits). Codes: `unauthorized`, `beyond_limits`,
 * `too_many_requests`.
 */
export function requireToken(access: Access) {
  return createMiddleware<EdgeTypes>(async (c, next) => {
    const text = bearerOf(c);
    if (isSameSecret(text, c.env.adminToken)) {
      c.set("caller", ADMIN);
      return next();
    }
    const caller = await callerWith(c, access, text);
    const confirm = () => callerWith(c, access, text);
    const verdict = access.requests.take(caller.token ?? "", c.env.now());
    if (!verdict.allowed) throw tooMany("this token makes too many requests", access.requests, verdict);
    c.set("caller", caller);
    c.set(
      "objects",
      walledObjects(c.env.objects, caller, async () => void (await confirm())),
    );
    const { pools } = caller.limits;
    if (pools !== undefined) c.set("pools", limitedNames(c.var.pools, pools));
    await next();
    setRateHeaders(c.res.headers, access.requests.policy, verdict, c.env.now());
  });
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

/** The holder of a token. Throws if the token is not valid here and now, or not from there. */
async function callerWith(c: EdgeContext, { tokens, wrongTokens }: Access, text: string): Promise<Caller> {
  const parsed = parseToken(text);
  if (parsed.kind !== "token") throw new DroverError("unauthorized", WHAT_IS_WRONG[parsed.kind]);
  const { id } = parsed;
  const digest = contentDigest(text);
  const remembered = holderOf(tokens.remembered(id, c.env.now()), digest, c);
  if (remembered !== undefined) return remembered;
  // A secret that was valid a moment ago is looked up again, whatever others at its address have sent.
  if (tokens.hasKnown(id, digest)) {
    return holderOf(await tokens.grant(id, c.env, digest), digest, c) ?? refuseToken();
  }
  const address = addressOf(c);
  const verdict = wrongTokens.take(address, c.env.now());
  if (!verdict.allowed) throw tooMany("too many wrong tokens came from this address", wrongTokens, verdict);
  // What is remembered may be from before a rotation. That there is no such token is remembered, too.
  const isUnknown = tokens.remembered(id, c.env.now()) === null;
  const holder = isUnknown ? undefined : holderOf(await tokens.lookUp(id, c.env, digest), digest, c);
  if (holder === undefined) return refuseToken();
  wrongTokens.giveBack(address);
  return holder;
}

/**
 * The holder of a token with this grant; undefined if the secret is not one of its valid ones. Throws
 * `beyond_limits` if the token is not accepted from there.
 */
function holderOf(grant: TokenGrant | null | undefined, digest: string, c: EdgeContext): Caller | undefined {
  const secret = grant?.digests.find((one) => isSame(one.digest, digest));
  if (!grant || secret === undefined || (secret.until !== null && secret.until <= c.env.now())) {
    return undefined;
  }
  const { sources } = grant.limits;
  const address = addressOf(c);
  if (sources !== undefined && !isFrom(sources, address)) {
    const from = address === "" ? "an unknown address" : address;
    throw new DroverError("beyond_limits", `this token is not accepted from ${from}`);
  }
  return callerOf(grant, secret.until);
}

/** The address that Cloudflare, or the door of a local Drover, has seen; empty if unknown. */
export function addressOf(c: EdgeContext): string {
  return c.req.header("cf-connecting-ip") ?? "";
}

function refuseToken(): never {
  throw new DroverError(
    "unauthorized",
    "this token is not valid here: it was revoked or has expired, or it belongs to another Drover",
  );
}

const WHAT_IS_WRONG = {
  typo: "this token has a typing error: its checksum does not match; copy it again",
  cut: "this token is incomplete, or has something added: it must be drv_ and 48 letters and digits",
  other: "this token is not valid here; it may belong to another Drover",
};

/** The error for a request beyond a rate limit. `what`: who sends too much of what. */
export function tooMany(what: string, { policy }: RateLimiter, { retryAfterMs }: RateVerdict): DroverError {
  const text = `${what}: ${policy.quota} in ${policy.windowMs / 1_000} s are allowed`;
  return new DroverError("too_many_requests", text, { retryAfterMs });
}

/** The names of the pools that exist for a token. */
function limitedNames({ names, forget }: EdgeTypes["Variables"]["pools"], pools: readonly string[]) {
  return { forget, names: async () => (await names()).filter((name) => pools.includes(name)) };
}

/**
 * Compares digests in constant time. An empty secret matches nothing, so a Worker without a token refuses
 * every request.
 */
function isSameSecret(given: string, secret = ""): boolean {
  return secret !== "" && isSame(contentDigest(given), contentDigest(secret));
}
