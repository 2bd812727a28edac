// The routes of tokens: create, list, read, rotate, revoke, and who the caller is (access.md#tokens).
import { z } from "zod";
import {
  CallerView,
  NewToken,
  RevokedToken,
  RotateRequest,
  Token,
  TokenId,
  TokenList,
  TokenRequest,
} from "../schema/access/token.ts";
import { SCOPES, type Scope } from "../shared/access/scopes.ts";
import { TOKEN_RANDOM_BYTES, tokenText } from "../shared/access/token-text.ts";
import { durationMs } from "../shared/duration.ts";
import { isoOrNull } from "../shared/time/instant.ts";
import { contentDigest } from "../signing/mac.ts";
import { projectOf } from "./access/caller.ts";
import { earlier, excessOf, faultsOf, refuseExcess, scopesOfPreset } from "./access/token-rules.ts";
import type { EdgeApp } from "./edge.ts";
import { invalid } from "./http/invalid.ts";
import type { TrustedIssuers } from "./oidc/trusted-issuers.ts";
import { operation } from "./openapi/operation.ts";
import { Flag, isOn, jsonAnswer, jsonBody } from "./openapi/params.ts";

const TokenParams = z.object({ id: TokenId.describe("the token's id, which is not secret") });

const ofTokens = { tag: "Tokens", access: "tokens:write" } as const;

const create = operation({
  ...ofTokens,
  method: "post",
  path: "/v1/tokens",
  operationId: "createToken",
  codes: ["token_exists", "busy"],
  summary: "Create a token; the answer shows it, and nothing else ever does",
  description:
    "It has the scopes of its preset and those in `scopes`. A token can only be given what its creator " +
    "has: its scopes, and limits that are as narrow.",
  request: { body: jsonBody(TokenRequest) },
  responses: { 201: jsonAnswer("it is valid from now on", NewToken, ["Location"]) },
});

const list = operation({
  ...ofTokens,
  method: "get",
  path: "/v1/tokens",
  operationId: "listTokens",
  summary: "All tokens, newest first, with those that ended in the last 90 days",
  responses: { 200: jsonAnswer("the tokens", TokenList) },
});

const read = operation({
  ...ofTokens,
  method: "get",
  path: "/v1/tokens/{id}",
  operationId: "getToken",
  codes: ["unknown_token"],
  summary: "One token, without its secret",
  request: { params: TokenParams },
  responses: { 200: jsonAnswer("the token", Token) },
});

const rotate = operation({
  ...ofTokens,
  method: "post",
  path: "/v1/tokens/{id}/rotate",
  operationId: "rotateToken",
  codes: ["unknown_token", "token_ended"],
  summary: "Give a token another secret; the one before stays valid for `overlap`",
  description: "Id, name, scopes and limits stay. After a second rotation the first secret is not valid.",
  request: { params: TokenParams, body: jsonBody(RotateRequest) },
  responses: { 200: jsonAnswer("the token with its new secret", NewToken) },
});

const revoke = operation({
  ...ofTokens,
  method: "delete",
  path: "/v1/tokens/{id}",
  operationId: "revokeToken",
  codes: ["unknown_token"],
  summary: "Revoke a token, for good",
  description:
    "Every part of the edge refuses it within 30 s. An open wait or stream ends when it asks again, which " +
    "can take a minute more. What the token has made, tokens and trust rules, lives on, and the answer " +
    "names it; with `children=1` it ends, too. Repeating the call with `children=1` is possible later.",
  request: {
    params: TokenParams,
    query: z.strictObject({
      children: Flag.optional().describe("end also what the token has made, by itself or indirectly"),
    }),
  },
  responses: { 200: jsonAnswer("it is revoked", RevokedToken) },
});

const whoami = operation({
  tag: "Tokens",
  access: "any_token",
  method: "get",
  path: "/v1/caller",
  operationId: "getCaller",
  summary: "Who the token of this request is, and what it may do",
  responses: { 200: jsonAnswer("the caller", CallerView) },
});

/** Adds the routes of tokens (access.md#tokens). `issuers` forgets all rules when some may have ended. */
export function tokenRoutes(app: EdgeApp, issuers: TrustedIssuers): void {
  app.openapi(create, async (c) => {
    const { name, preset, scopes: more, limits, expiresIn } = c.req.valid("json");
    const { caller } = c.var;
    const wanted: Scope[] = [...scopesOfPreset(preset, limits), ...more];
    const scopes = SCOPES.filter((scope) => wanted.includes(scope));
    const project = projectOf(caller);
    const faults = [...faultsOf(scopes, limits, project), ...excessOf(scopes, limits, caller)];
    if (faults.length > 0) throw invalid(faults);
    const now = c.env.now();
    const { id, text } = tokenText(crypto.getRandomValues(new Uint8Array(TOKEN_RANDOM_BYTES)));
    const lifeEnd = expiresIn === undefined ? null : now + durationMs(expiresIn);
    const token = await c.var.objects.registry().createToken({
      id,
      name,
      project,
      scopes,
      limits,
      payer: caller.budget?.payer ?? id,
      digest: contentDigest(text),
      createdAt: now,
      createdBy: caller.by,
      parent: caller.token ?? null,
      expiresAt: earlier(lifeEnd, caller.expiresAt),
    });
    c.header("Location", `/v1/tokens/${id}`);
    return c.json({ ...token, token: text }, 201);
  });
  app.openapi(list, async (c) => {
    const items = await c.var.objects.registry().tokens(c.var.caller.project);
    return c.json({ items, next: null }, 200);
  });
  app.openapi(read, async (c) => c.json(await c.var.objects.registry().token(c.req.valid("param").id), 200));
  app.openapi(rotate, async (c) => {
    const { id } = c.req.valid("param");
    const overlapMs = durationMs(c.req.valid("json").overlap);
    const { text } = tokenText(crypto.getRandomValues(new Uint8Array(TOKEN_RANDOM_BYTES)), id);
    const registry = c.var.objects.registry();
    refuseExcess(await registry.token(id), c.var.caller);
    const token = await registry.rotateToken(id, contentDigest(text), overlapMs, c.var.caller.by);
    c.var.access.tokens.forget(id);
    return c.json({ ...token, token: text }, 200);
  });
  app.openapi(revoke, async (c) => {
    const { id } = c.req.valid("param");
    const registry = c.var.objects.registry();
    refuseExcess(await registry.token(id), c.var.caller);
    const withChildren = isOn(c.req.valid("query").children);
    const token = await registry.revokeToken(id, c.var.caller.by, withChildren);
    if (withChildren) {
      c.var.access.tokens.forgetAll();
      issuers.forgetAll();
    } else c.var.access.tokens.forget(id);
    return c.json(token, 200);
  });
  app.openapi(whoami, (c) => {
    const { by, project, scopes, limits, expiresAt } = c.var.caller;
    return c.json({ by, project, scopes: [...scopes], limits, expiresAt: isoOrNull(expiresAt) }, 200);
  });
}
