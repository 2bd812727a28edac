// The routes of browser sessions: codes, sign-in, sign-out, the list, and the end of one (sessions.md).
import { z } from "zod";
import type { SessionOwner } from "../objects/rpc.ts";
import { SessionCode, SessionId, SessionList, SignIn } from "../schema/access/session.ts";
import {
  CODE_PREFIX,
  parseToken,
  SESSION_PREFIX,
  TOKEN_RANDOM_BYTES,
  tokenText,
} from "../shared/access/token-text.ts";
import { DroverError } from "../shared/errors.ts";
import { LONGEST_SESSION_MS, SESSION_CODE_MS } from "../shared/limits.ts";
import { iso } from "../shared/time/instant.ts";
import { contentDigest } from "../signing/mac.ts";
import { adminCaller, type Caller, callerOf, sessionCaller } from "./access/caller.ts";
import {
  clearSessionCookie,
  refuseCrossSite,
  sessionSecretOf,
  setSessionCookie,
} from "./access/session-cookie.ts";
import { refuseSessionExcess } from "./access/token-rules.ts";
import type { EdgeApp, EdgeContext } from "./edge.ts";
import { holderWith, refuseElsewhere } from "./http/auth.ts";
import { judged, judgedAgain, refuseHaste } from "./http/limits.ts";
import { headersOf } from "./openapi/answer-headers.ts";
import { operation } from "./openapi/operation.ts";
import { jsonAnswer, jsonBody } from "./openapi/params.ts";

const offer = operation({
  tag: "Tokens",
  access: "any_token",
  method: "post",
  path: "/v1/sessions",
  operationId: "createSessionCode",
  summary: "Make a code with which a browser starts a session of this caller",
  description: "The code works once, within a minute. The session may do what the token of this request may.",
  responses: { 201: jsonAnswer("the code", SessionCode, ["Location"]) },
});

const list = operation({
  tag: "Tokens",
  access: "tokens:write",
  method: "get",
  path: "/v1/sessions",
  operationId: "listSessions",
  summary: "The active browser sessions, latest start first",
  responses: { 200: jsonAnswer("the sessions", SessionList) },
});

const end = operation({
  tag: "Tokens",
  access: "tokens:write",
  method: "delete",
  path: "/v1/sessions/{id}",
  operationId: "endSession",
  summary: "End a browser session",
  description: "Every part of the edge refuses its cookie within 30 s. Repeating the call is harmless.",
  request: { params: z.object({ id: SessionId.describe("the session's id, which is not secret") }) },
  responses: { 204: { description: "it has ended" } },
});

const signIn = operation({
  tag: "Tokens",
  access: "open",
  method: "post",
  path: "/ui/session",
  operationId: "signIn",
  codes: ["unauthorized", "beyond_limits", "cross_site", "too_many_requests", "unavailable"],
  summary: "Start a browser session by a code or a token; the answer sets its cookie",
  request: { body: jsonBody(SignIn) },
  responses: {
    204: { description: "the session has started, and its cookie is set", headers: headersOf("Set-Cookie") },
  },
});

const signOut = operation({
  tag: "Tokens",
  access: "open",
  method: "delete",
  path: "/ui/session",
  operationId: "signOut",
  codes: ["cross_site", "too_many_requests", "unavailable"],
  summary: "End the browser session of the request's cookie, and clear the cookie",
  responses: { 204: { description: "the session has ended", headers: headersOf("Set-Cookie") } },
});

/** Adds the routes of browser sessions (sessions.md). */
export function sessionRoutes(app: EdgeApp): void {
  app.openapi(offer, async (c) => {
    if (c.var.caller.isSession) {
      // Otherwise a session could live on in others after its end.
      throw new DroverError("beyond_limits", "a session makes no codes for others; use the token itself");
    }
    const { id, text, digest } = newSecret(CODE_PREFIX);
    await c.var.objects.registry().offerSession(id, ownerOf(c.var.caller), digest);
    c.header("Location", `/v1/sessions/${id}`);
    return c.json({ code: text, expiresAt: iso(c.env.now() + SESSION_CODE_MS) }, 201);
  });
  app.openapi(list, async (c) => {
    return c.json({ items: await c.var.objects.registry().sessions(c.var.caller.project), next: null }, 200);
  });
  app.openapi(end, async (c) => {
    const { id } = c.req.valid("param");
    const registry = c.var.objects.registry();
    const session = (await registry.sessions(c.var.caller.project)).find((one) => one.id === id);
    if (session !== undefined) {
      refuseSessionExcess(session.token === null ? null : await registry.token(session.token), c.var.caller);
      await registry.endSession(id, c.var.caller.by);
    }
    c.var.access.sessions.forget(id);
    return c.body(null, 204);
  });
  app.openapi(signIn, async (c) => {
    if (c.req.header("origin") !== undefined || c.req.header("sec-fetch-site") !== undefined)
      refuseCrossSite(c);
    const { code, token = "" } = c.req.valid("json");
    const secret = code === undefined ? await started(c, token) : await redeemed(c, code);
    setSessionCookie(c, secret, LONGEST_SESSION_MS);
    c.header("cache-control", "no-store");
    return c.body(null, 204);
  });
  app.openapi(signOut, async (c) => {
    const secret = sessionSecretOf(c);
    const parsed = secret === undefined ? undefined : parseToken(secret, SESSION_PREFIX);
    if (secret !== undefined && parsed?.kind === "token") {
      refuseCrossSite(c);
      await endOwn(c, parsed.id, contentDigest(secret));
    }
    clearSessionCookie(c);
    return c.body(null, 204);
  });
}

/** Ends the session with this secret, if there is one. */
async function endOwn(c: EdgeContext, id: string, digest: string): Promise<void> {
  const { guesses, sessions } = c.var.access;
  const guess = { kind: guesses.signOut, secret: digest };
  const find = async () => {
    const found = await c.env.objects.registry().sessionGrant(id, digest);
    return found?.digest === digest ? found : undefined;
  };
  // Wrong cookies of others at the address keep nobody from ending a session that is in use.
  const grant = await (sessions.hasKnown(id, digest) ? judgedAgain : judged)(c, guess, find);
  if (grant === undefined) return sessions.unlearn(id, digest);
  const { token, owner } = grant;
  const holder = token === null ? adminCaller(owner.secret) : callerOf(token, owner.secret, null);
  await c.env.objects.registry().endSession(id, sessionCaller(holder).by);
  sessions.forget(id);
}

/** The secret of a session that a code has started. */
async function redeemed(c: EdgeContext, code: string): Promise<string> {
  const parsed = parseToken(code, CODE_PREFIX);
  if (parsed.kind !== "token") {
    throw new DroverError(
      "unauthorized",
      "this is not a code of a session; copy it again, or make another one",
    );
  }
  const guess = { kind: c.var.access.guesses.code, secret: contentDigest(code) };
  return judged(c, guess, async () => {
    const { text, digest } = newSecret(SESSION_PREFIX, parsed.id);
    await c.env.objects.registry().redeemSession(parsed.id, guess.secret, digest);
    return text;
  });
}

/** The secret of a session that a token has started. */
async function started(c: EdgeContext, token: string): Promise<string> {
  const caller = await holderWith(c, c.var.access, token);
  await refuseElsewhere(c, caller);
  refuseHaste(c, c.var.access, caller);
  const { id, text, digest } = newSecret(SESSION_PREFIX);
  await c.env.objects.registry().startSession(id, ownerOf(caller), digest);
  return text;
}

function newSecret(prefix: typeof CODE_PREFIX | typeof SESSION_PREFIX, ofId?: string | undefined) {
  const { id, text } = tokenText(crypto.getRandomValues(new Uint8Array(TOKEN_RANDOM_BYTES)), ofId, prefix);
  return { id, text, digest: contentDigest(text) };
}

/** For whom a session of this caller acts. A session that a session has started acts for the same owner. */
function ownerOf({ token, secret }: Caller): SessionOwner {
  return { token: token ?? null, secret };
}
