// The routes of trust rules: create, change, list, read, delete (oidc.md#trust-rules).
import { z } from "zod";
import { TrustRule, TrustRuleList, TrustRuleRequest } from "../../schema/access/trust.ts";
import { Name } from "../../schema/common.ts";
import { SCOPES, type Scope } from "../../shared/access/scopes.ts";
import { durationMs } from "../../shared/duration.ts";
import type { FieldError } from "../../shared/errors.ts";
import { DroverError } from "../../shared/errors.ts";
import { type Caller, namedBy, projectOf } from "../access/caller.ts";
import { excessOf, faultsOf, scopesOfPreset } from "../access/token-rules.ts";
import type { EdgeApp, EdgeBindings } from "../edge.ts";
import { invalid } from "../http/invalid.ts";
import { hasCode } from "../http/problem.ts";
import { operation } from "../openapi/operation.ts";
import { jsonAnswer, jsonBody } from "../openapi/params.ts";
import { faultsOfTrust, profileOf } from "./issuers.ts";
import type { TrustedIssuers } from "./trusted-issuers.ts";

const RuleParams = z.object({ name: Name.describe("the name of the trust rule") });

const ofTrust = { tag: "Tokens", access: "tokens:write" } as const;

const put = operation({
  ...ofTrust,
  method: "put",
  path: "/v1/trust-rules/{name}",
  operationId: "putTrustRule",
  codes: ["busy"],
  summary: "Trust an issuer: its tokens with these claims can be exchanged for tokens of this Drover",
  description:
    "A rule can only give what its creator has: scopes, and limits that are as narrow. It ends with the " +
    "token of its creator. A change does not touch tokens that were given before; deleting the rule " +
    "ends them.",
  request: { params: RuleParams, body: jsonBody(TrustRuleRequest) },
  responses: {
    200: jsonAnswer("changed", TrustRule),
    201: jsonAnswer("created", TrustRule, ["Location"]),
  },
});

const list = operation({
  ...ofTrust,
  method: "get",
  path: "/v1/trust-rules",
  operationId: "listTrustRules",
  summary: "All trust rules, by name",
  responses: { 200: jsonAnswer("the rules", TrustRuleList) },
});

const read = operation({
  ...ofTrust,
  method: "get",
  path: "/v1/trust-rules/{name}",
  operationId: "getTrustRule",
  codes: ["unknown_trust_rule"],
  summary: "One trust rule",
  request: { params: RuleParams },
  responses: { 200: jsonAnswer("the rule", TrustRule) },
});

const remove = operation({
  ...ofTrust,
  method: "delete",
  path: "/v1/trust-rules/{name}",
  operationId: "deleteTrustRule",
  codes: ["unknown_trust_rule"],
  summary: "Delete a trust rule, and end the tokens that it gave",
  description: "Every part of the edge refuses those tokens within 30 s.",
  request: { params: RuleParams },
  responses: { 200: jsonAnswer("it is deleted", TrustRule) },
});

/** Adds the routes of trust rules (oidc.md#trust-rules). `issuers` forgets an issuer whose rules change. */
export function trustRuleRoutes(app: EdgeApp, issuers: TrustedIssuers): void {
  app.openapi(put, async (c) => {
    const { name } = c.req.valid("param");
    const { caller } = c.var;
    const rule = ruleFrom(c.req.valid("json"), caller, c.env);
    const registry = c.var.objects.registry();
    const named = namedBy(caller, name);
    const before = await registry.trustRule(named).catch((error: unknown) => {
      if (hasCode(error, "unknown_trust_rule")) return undefined;
      throw error;
    });
    if (before !== undefined) refuseExcessOfRule(before, caller);
    const now = c.env.now();
    const stored = await registry.putTrustRule({
      ...named,
      payer: caller.budget?.payer ?? `trust:${named.project}/${name}`,
      version: crypto.randomUUID(),
      ...rule,
      createdAt: now,
      createdBy: caller.by,
      parent: caller.token ?? null,
      expiresAt: caller.expiresAt,
    });
    issuers.forget(rule.issuer);
    if (before !== undefined) issuers.forget(before.issuer);
    if (!stored.created) return c.json(stored.rule, 200);
    c.header("Location", `/v1/trust-rules/${name}`);
    return c.json(stored.rule, 201);
  });
  app.openapi(list, async (c) =>
    c.json({ items: await c.var.objects.registry().trustRules(c.var.caller.project), next: null }, 200),
  );
  app.openapi(read, async (c) =>
    c.json(await c.var.objects.registry().trustRule(namedBy(c.var.caller, c.req.valid("param").name)), 200),
  );
  app.openapi(remove, async (c) => {
    const { name } = c.req.valid("param");
    const registry = c.var.objects.registry();
    const named = namedBy(c.var.caller, name);
    refuseExcessOfRule(await registry.trustRule(named), c.var.caller);
    const rule = await registry.removeTrustRule(named, c.var.caller.by);
    issuers.forget(rule.issuer);
    c.var.access.tokens.forgetAll();
    return c.json(rule, 200);
  });
}

/** The rule that a request describes. Throws `invalid_request` for a bad one, or one beyond the caller. */
function ruleFrom(request: TrustRuleRequest, caller: Caller, { url, issuers }: EdgeBindings) {
  const { issuer, claims, preset, scopes: more, limits, lifetime, audience = url } = request;
  const trust = faultsOfTrust({ issuer, claims }, issuers.allowsLocal);
  if (audience === "") {
    trust.push({
      pointer: "/audience",
      detail: "is required: this Drover does not know its URL (DROVER_URL)",
    });
  }
  if (trust.length > 0) throw invalid(trust);
  const labels = request.labels ?? profileOf(issuer).labels;
  const fixed = Object.keys(limits.labels ?? {}).filter((label) => Object.hasOwn(labels, label));
  const forced = Object.fromEntries(Object.keys(labels).map((label) => [label, ""]));
  // Whatever the claims say, a token of this rule is limited to labels if the rule forces any.
  const limited =
    Object.keys(labels).length === 0 ? limits : { ...limits, labels: { ...forced, ...limits.labels } };
  const wanted: Scope[] = [...scopesOfPreset(preset, limited), ...more];
  const scopes = SCOPES.filter((scope) => wanted.includes(scope));
  const faults: FieldError[] = [
    ...fixed.map((label) => ({ pointer: `/labels/${label}`, detail: "has a fixed value in /limits/labels" })),
    ...faultsOf(scopes, limited, projectOf(caller)),
    ...excessOf(scopes, limits, caller),
  ];
  if (faults.length > 0) throw invalid(faults);
  return { issuer, audience, claims, scopes, limits, labels, lifetimeMs: durationMs(lifetime) };
}

/** Throws `beyond_limits` if the tokens of a rule may do more than the caller, or the rule lasts longer. */
function refuseExcessOfRule({ name, scopes, limits, expiresAt }: TrustRule, caller: Caller): void {
  const end = expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
  const lasts = end > (caller.expiresAt ?? Number.POSITIVE_INFINITY);
  if (!lasts && excessOf(scopes, limits, caller).length === 0) return;
  const text = `the tokens of the trust rule "${name}" may do more than ${caller.by}, or for longer`;
  throw new DroverError("beyond_limits", text);
}
