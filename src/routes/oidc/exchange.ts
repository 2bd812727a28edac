// The route that exchanges a token of a trusted issuer for a token of this Drover (oidc.md#exchange).
import type { z } from "zod";
import type { TrustRow } from "../../objects/rpc.ts";
import { ExchangedToken, ExchangeRequest } from "../../schema/access/trust.ts";
import { TOKEN_RANDOM_BYTES, tokenId, tokenText } from "../../shared/access/token-text.ts";
import { DroverError } from "../../shared/errors.ts";
import { iso } from "../../shared/time/instant.ts";
import { contentDigest, digestBytes } from "../../signing/mac.ts";
import { earlier } from "../access/token-rules.ts";
import type { EdgeApp, EdgeContext } from "../edge.ts";
import { invalid } from "../http/invalid.ts";
import { hasCode } from "../http/problem.ts";
import { operation } from "../openapi/operation.ts";
import { jsonAnswer, jsonBody } from "../openapi/params.ts";
import { accepts, limitsFrom, nameFrom, shownClaims } from "./claims.ts";
import type { IssuerKeys } from "./issuer-keys.ts";
import { CLOCK_TOLERANCE_MS, readJwt, refused, shown, type VerifiedJwt, verifyJwt } from "./jwt.ts";
import type { TrustedIssuers } from "./trusted-issuers.ts";

/** Rules that are older than this are asked for again before a token is refused for its claims. */
const FRESH_RULES_MS = 5_000;

const exchange = operation({
  tag: "Tokens",
  access: "issuer",
  method: "post",
  path: "/v1/oidc/exchange",
  operationId: "exchangeToken",
  codes: ["not_trusted", "busy", "issuer_unavailable"],
  summary: "Exchange a token of a trusted issuer for a token of this Drover",
  description:
    "For CI systems and clouds that give their jobs a token (OpenID Connect): no secret of this Drover " +
    "need be stored there. The token must be signed by the issuer, be for the audience that a trust rule " +
    "names, and have the claims of that rule. Each token is good for one exchange.",
  request: { body: jsonBody(ExchangeRequest) },
  responses: { 200: jsonAnswer("the token for this Drover", ExchangedToken) },
});

/** What the exchange remembers between requests. */
export interface ExchangeMemory {
  issuers: TrustedIssuers;
  keys: IssuerKeys;
}

/** Adds the route of the exchange (oidc.md#exchange). */
export function exchangeRoute(app: EdgeApp, memory: ExchangeMemory): void {
  app.openapi(exchange, async (c) => c.json(await exchanged(c, memory, c.req.valid("json")), 200));
}

/**
 * The token for a token of an issuer, by the rule that accepts it. The remembered rules may be from before a
 * change, so they are asked for again before a refusal, and once more if the registry refuses the chosen rule
 * because it has changed (oidc.md#exchange).
 */
async function exchanged(
  c: EdgeContext,
  { issuers, keys }: ExchangeMemory,
  { token, ...wanted }: z.output<typeof ExchangeRequest>,
) {
  const { issuer } = readJwt(token);
  const rulesOf = async (newerThanMs?: number) =>
    (await issuers.rulesOf(issuer, c.env, newerThanMs)).filter(({ project }) => project === wanted.project);
  const remembered = await rulesOf();
  if (remembered.length === 0 && (await rulesOf(FRESH_RULES_MS)).length === 0) throw unknownIssuer(issuer);
  const verified = await verifiedBy(c, keys, token, issuer);
  const [first, ...others] = fittingRules(remembered, verified, wanted.rule);
  const given = first && others.length === 0 ? await givenUnlessChanged(first) : undefined;
  if (given !== undefined) return given;
  const rules = await rulesOf(FRESH_RULES_MS);
  if (rules.length === 0) throw unknownIssuer(issuer);
  return give(c, token, onlyRule(issuer, rules, verified, wanted.rule), verified);

  /**
   * The token by a remembered rule; undefined if the registry refuses it because the rule has changed. Then
   * the rules are asked for again.
   */
  async function givenUnlessChanged(rule: TrustRow) {
    try {
      return await give(c, token, rule, verified);
    } catch (error) {
      if (!hasCode(error, "unavailable")) throw error;
      await rulesOf(0);
      return undefined;
    }
  }
}

function unknownIssuer(issuer: string): DroverError {
  return refused(
    `is from ${shown(issuer)}, which no trust rule names; \`drover trust list\` shows the rules`,
  );
}

/** The claims of a token, by the keys of its issuer, which are read again once if it names an unknown key. */
async function verifiedBy(
  c: EdgeContext,
  keys: IssuerKeys,
  token: string,
  issuer: string,
): Promise<VerifiedJwt> {
  const asking = { network: c.env.issuers, now: c.env.now };
  for (const again of [false, true]) {
    const set = await keys.of(issuer, asking, again);
    if (set === undefined) break;
    const verified = await verifyJwt(token, issuer, set, c.env.now());
    if (verified !== "unknown key") return verified;
  }
  throw refused(`names a key that ${shown(issuer)} does not publish (\`kid\`)`);
}

/** The rules that accept a token, of those that the request means. */
function fittingRules(
  rules: readonly TrustRow[],
  { claims, audience }: VerifiedJwt,
  wanted: string | undefined,
): TrustRow[] {
  return rules.filter(
    (rule) =>
      (wanted === undefined || rule.name === wanted) && rule.audience === audience && accepts(rule, claims),
  );
}

/**
 * The one rule that accepts a token. Throws `invalid_request` if several do and the request does not say
 * which, and refuses the token if none does.
 */
function onlyRule(
  issuer: string,
  rules: readonly TrustRow[],
  verified: VerifiedJwt,
  wanted: string | undefined,
): TrustRow {
  const [first, ...others] = fittingRules(rules, verified, wanted);
  if (first === undefined) throw notTrusted(issuer, rules, verified);
  if (others.length === 0) return first;
  const names = [first, ...others].map(({ name }) => name).join(", ");
  throw invalid([{ pointer: "/rule", detail: `is required: the rules ${names} accept this token` }]);
}

function notTrusted(
  issuer: string,
  rules: readonly TrustRow[],
  { claims, audience }: VerifiedJwt,
): DroverError {
  const wanted = rules.map((rule) => rule.audience);
  if (!wanted.includes(audience)) {
    return refused(`is for another audience (\`aud\`); ask its issuer for one for ${wanted.sort()[0]}`);
  }
  const text =
    `no trust rule accepts this token of ${issuer}; it has ${shownClaims(issuer, rules, claims)}. ` +
    "`drover trust list` shows what the rules ask for";
  return new DroverError("not_trusted", text);
}

/** Stores and answers the token for this Drover. Its id is derived from the token of the issuer. */
async function give(c: EdgeContext, jwt: string, rule: TrustRow, { claims, endsAt }: VerifiedJwt) {
  const now = c.env.now();
  const limits = limitsFrom(rule, claims);
  const name = nameFrom(rule, claims);
  const id = tokenId(digestBytes(rule.issuer, "\n", nonceOf(jwt, claims.jti)));
  const { text } = tokenText(crypto.getRandomValues(new Uint8Array(TOKEN_RANDOM_BYTES)), id);
  const expiresAt = earlier(now + rule.lifetimeMs, rule.expiresAt) ?? now + rule.lifetimeMs;
  const keptUntil = Math.max(expiresAt, endsAt + 2 * CLOCK_TOLERANCE_MS);
  const { project, scopes, payer } = rule;
  const token = {
    id,
    name,
    project,
    scopes,
    limits,
    payer,
    digest: contentDigest(text),
    createdAt: now,
    expiresAt,
  };
  const given = { rule: rule.name, keptUntil };
  await c.env.objects.registry().exchange({
    token: { ...token, createdBy: `trust:${rule.name}`, parent: null, given },
    version: rule.version,
  });
  // The id may have been asked for while nobody had it.
  c.var.access.tokens.forget(id);
  return { token: text, by: name, project, rule: rule.name, scopes, limits, expiresAt: iso(expiresAt) };
}

/**
 * What makes a token of an issuer different from all others: its `jti`, or what is signed. The signature does
 * not count: some signatures can be written in two ways.
 */
function nonceOf(jwt: string, jti: unknown): string {
  return typeof jti === "string" && jti !== "" ? `jti ${jti}` : `jwt ${jwt.slice(0, jwt.lastIndexOf("."))}`;
}
