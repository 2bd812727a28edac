// What do the routes of trust rules and of the exchange accept and answer (oidc.md#trust-rules)?
import { z } from "zod";
import { DEFAULT_PROJECT } from "../../shared/access/project.ts";
import { SCOPES } from "../../shared/access/scopes.ts";
import { formatDuration, parseDuration } from "../../shared/duration.ts";
import { Duration, InstantText, Name, ProjectName } from "../common.ts";
import { GrantedScope, PresetName, Scope, TokenLimits } from "./token.ts";

/** How many claims one rule can compare, and how many labels it can force. */
const MAX_ENTRIES = 32;
/** How long a token that a rule gives can be valid: at least, and at most. */
const MIN_LIFETIME_MS = 60_000;
const MAX_LIFETIME_MS = 24 * 3_600_000;
/** The longest token of an issuer. Those of GitHub have 2 KiB, with many claims of one's own 4 KiB. */
export const MAX_JWT_CHARS = 16 * 1024;

const ClaimName = z.string().min(1).max(128);
const ISSUER_TEXT = "must be an https URL without user name, query or fragment, as in the tokens";

/** The name of an issuer, which is also where its keys are found. */
export const Issuer = z
  .string()
  .max(512)
  .regex(/^https?:\/\/[\w.:[\]-]+(?:\/[!"$->@-~]*)?$/, { error: ISSUER_TEXT, abort: true })
  .refine(URL.canParse, ISSUER_TEXT)
  .describe("exactly as `iss` in its tokens; its keys are found below it by discovery")
  .meta({ example: "https://token.actions.githubusercontent.com" });

/** `PUT /v1/trust-rules/{name}` (oidc.md#trust-rules). */
export const TrustRuleRequest = z
  .strictObject({
    issuer: Issuer,
    audience: z
      .string()
      .min(1)
      .max(512)
      .optional()
      .describe("what `aud` must be, letter by letter; the URL of this Drover if absent"),
    claims: z
      .record(ClaimName, z.string().min(1).max(512))
      .refine((claims) => Object.keys(claims).length > 0, "must have at least 1 entry")
      .refine(
        (claims) => Object.keys(claims).length <= MAX_ENTRIES,
        `must have at most ${MAX_ENTRIES} entries`,
      )
      .describe("claims that a token must have, all of them; `*` stands for any characters"),
    preset: PresetName.optional().describe("a bundle of scopes"),
    scopes: z.array(GrantedScope).max(SCOPES.length).default([]).describe("more than the preset has"),
    limits: TokenLimits.default({}),
    labels: z
      .record(z.string().min(1).max(128), ClaimName)
      .refine(
        (labels) => Object.keys(labels).length <= MAX_ENTRIES,
        `must have at most ${MAX_ENTRIES} entries`,
      )
      .optional()
      .describe(
        "by label: the claim whose value each run gets there; other runs do not exist for the token. " +
          "If absent, what fits the issuer, such as `gh.repo`, `gh.sha` and `gh.run`",
      ),
    lifetime: Duration.refine(
      (text) => {
        const ms = parseDuration(text) ?? MIN_LIFETIME_MS;
        return ms >= MIN_LIFETIME_MS && ms <= MAX_LIFETIME_MS;
      },
      `must be from ${formatDuration(MIN_LIFETIME_MS)} to ${formatDuration(MAX_LIFETIME_MS)}`,
    )
      .default("15m")
      .describe("how long a token that it gives is valid"),
  })
  .meta({ id: "TrustRuleRequest" });
export type TrustRuleRequest = z.output<typeof TrustRuleRequest>;

/** A trust rule. */
export const TrustRule = z
  .object({
    name: z.string(),
    project: z.string(),
    issuer: z.string(),
    audience: z.string(),
    claims: z.record(z.string(), z.string()),
    scopes: z.array(Scope),
    limits: TokenLimits,
    labels: z.record(z.string(), z.string()),
    lifetime: z.string().describe("how long a token that it gives is valid"),
    createdAt: InstantText.describe("when its present version was made"),
    createdBy: z.string(),
    parent: z
      .string()
      .nullable()
      .describe("the id of the token that made its present version; null: the secret of the deployment"),
    expiresAt: InstantText.nullable().describe("when the token of its creator ends, and the rule with it"),
  })
  .meta({ id: "TrustRule" });
export type TrustRule = z.infer<typeof TrustRule>;

export const TrustRuleList = z
  .object({ items: z.array(TrustRule), next: z.null() })
  .meta({ id: "TrustRuleList" });

/** `POST /v1/oidc/exchange` (oidc.md#exchange). */
export const ExchangeRequest = z
  .strictObject({
    token: z
      .string()
      .min(1)
      .max(MAX_JWT_CHARS, `must have at most ${MAX_JWT_CHARS} characters`)
      .describe("the token of the issuer, a JWT"),
    rule: Name.optional().describe("the trust rule to use, if more than one would accept the token"),
    project: ProjectName.default(DEFAULT_PROJECT).describe("whose trust rules judge the token"),
  })
  .meta({ id: "ExchangeRequest" });

export const ExchangedToken = z
  .object({
    token: z.string().describe("the token for this Drover: shown now and never again"),
    by: z.string().describe("how events name its holder"),
    project: z.string(),
    rule: z.string().describe("the trust rule that accepted the token of the issuer"),
    scopes: z.array(Scope),
    limits: TokenLimits.describe("with the labels that each of its runs gets"),
    expiresAt: InstantText,
  })
  .meta({ id: "ExchangedToken" });
