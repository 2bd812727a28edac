// What do the routes of tokens accept and answer (access.md#tokens)?
import { z } from "zod";
import { BREAK_GLASS_NAME, GRANTABLE_SCOPES, PRESET_NAMES, SCOPES } from "../../shared/access/scopes.ts";
import { TOKEN_ID_CHARS } from "../../shared/access/token-text.ts";
import { formatDuration, parseDuration } from "../../shared/duration.ts";
import { Duration, InstantText, Name } from "../common.ts";
import { SecretName } from "../run/secret-name.ts";
import { TextMap } from "../run/task.ts";
import { isNetwork } from "./networks.ts";

/** How many pools, and how many source networks, the limits of one token can name. */
const MAX_LIMIT_ENTRIES = 100;
/** How long the old secret of a rotated token can stay valid at most. */
const MAX_OVERLAP_MS = 30 * 24 * 3_600_000;
/** How long a token that expires can be valid at most. */
const MAX_EXPIRY_MS = 10 * 365 * 24 * 3_600_000;

function atMost(text: string, longestMs: number): boolean {
  const ms = parseDuration(text);
  return ms === undefined || ms <= longestMs;
}

export const GrantedScope = z
  .enum(GRANTABLE_SCOPES, `must be one of ${GRANTABLE_SCOPES.join(", ")}`)
  .meta({ id: "GrantedScope" });

/** The part of a token that is not secret. */
export const TokenId = z
  .string()
  .regex(new RegExp(`^[0-9A-Za-z]{${TOKEN_ID_CHARS}}$`), `must be ${TOKEN_ID_CHARS} letters and digits`);

/** The name of a bundle of scopes (access.md#presets). */
export const PresetName = z
  .enum(PRESET_NAMES, `must be one of ${PRESET_NAMES.join(", ")}`)
  .meta({ id: "PresetName" });

export const Scope = z.enum(SCOPES).meta({ id: "Scope" });
export const TokenState = z.enum(["active", "expired", "revoked"]).meta({ id: "TokenState" });

/** What a token may do at most, whatever its scopes say (access.md#limits). */
export const TokenLimits = z
  .strictObject({
    pools: z.array(Name).min(1).max(MAX_LIMIT_ENTRIES).optional().describe("only these pools exist for it"),
    labels: TextMap.refine((labels) => Object.keys(labels).length > 0, "must have at least 1 entry")
      .optional()
      .describe("every run that it submits gets these labels, and only runs with them exist for it"),
    maxPriority: z.int().min(1).max(100).optional().describe("the highest priority that it may ask for"),
    maxCostPerHour: z
      .number()
      .positive()
      .max(1_000_000)
      .optional()
      .describe(
        "what its placed runs, with those of the tokens that it made, may cost per hour in each pool",
      ),
    secrets: z
      .array(SecretName)
      .min(1)
      .max(MAX_LIMIT_ENTRIES)
      .optional()
      .describe("its runs get only these secrets; needed beside `pools` or `labels` to use secrets at all"),
    sources: z
      .array(z.string().max(64).refine(isNetwork, 'must be a network such as "10.0.0.0/8", or an address'))
      .min(1)
      .max(MAX_LIMIT_ENTRIES)
      .optional()
      .describe("it is only accepted from these networks"),
  })
  .meta({ id: "TokenLimits" });
export type TokenLimits = z.output<typeof TokenLimits>;

/** `POST /v1/tokens` (access.md#tokens). */
export const TokenRequest = z.strictObject({
  name: Name.refine(
    (name) => name !== BREAK_GLASS_NAME,
    `is taken: events name the secret of this Drover so; choose another one`,
  ).describe("whose token it is, or what it is for; events name it"),
  preset: PresetName.optional().describe("a bundle of scopes"),
  scopes: z.array(GrantedScope).max(SCOPES.length).default([]).describe("more than the preset has"),
  limits: TokenLimits.default({}),
  expiresIn: Duration.refine(
    (text) => (parseDuration(text) ?? 1) > 0 && atMost(text, MAX_EXPIRY_MS),
    `must be longer than 0s and at most ${formatDuration(MAX_EXPIRY_MS)}`,
  )
    .optional()
    .describe("how long it is valid; without it, until it is revoked"),
});
export type TokenRequest = z.output<typeof TokenRequest>;

/** `POST /v1/tokens/{id}/rotate` (access.md#rotation). */
export const RotateRequest = z.strictObject({
  overlap: Duration.refine(
    (text) => atMost(text, MAX_OVERLAP_MS),
    `must be at most ${formatDuration(MAX_OVERLAP_MS)}`,
  )
    .default("1h")
    .describe("how long the old secret stays valid; 0s ends it at once"),
});

/** A token without its secret. */
export const Token = z
  .object({
    id: z.string().describe("the part of the token after `drv_` that is not secret"),
    name: z.string(),
    project: z.string(),
    scopes: z.array(Scope),
    limits: TokenLimits,
    state: TokenState,
    payer: z
      .string()
      .nullable()
      .describe("the id of the token, or the trust rule, whose budget its runs draw on; null: it has none"),
    rule: z
      .string()
      .nullable()
      .describe("the trust rule that gave it for a token of another issuer; null: somebody created it"),
    createdAt: InstantText,
    createdBy: z.string(),
    parent: z
      .string()
      .nullable()
      .describe("the id of the token that made it; null: the secret of the deployment, or a trust rule"),
    expiresAt: InstantText.nullable(),
    rotatedAt: InstantText.nullable().describe("since when it has its present secret, if not from the first"),
    oldSecretUntil: InstantText.nullable().describe("until when the secret before is valid, too"),
    lastUsedOn: z.iso.date().nullable().describe("the day of its latest use, in UTC"),
    revokedAt: InstantText.nullable(),
    revokedBy: z.string().nullable(),
  })
  .meta({ id: "Token" });
export type Token = z.infer<typeof Token>;

export const NewToken = Token.extend({
  token: z.string().describe("the token itself: shown now and never again"),
}).meta({ id: "NewToken" });
export type NewToken = z.infer<typeof NewToken>;

/** What a token has made, also indirectly (access.md#children). */
export const TokenChildren = z
  .object({
    tokens: z.array(z.object({ id: z.string(), name: z.string() })),
    trustRules: z.array(z.string()).describe("their names"),
  })
  .meta({ id: "TokenChildren" });
export type TokenChildren = z.infer<typeof TokenChildren>;

/** `DELETE /v1/tokens/{id}`. */
export const RevokedToken = Token.extend({
  children: TokenChildren.describe("what it has made, also indirectly, and what was valid until then"),
  childrenEnded: z.boolean().describe("whether these have ended, too; else they live on"),
}).meta({ id: "RevokedToken" });
export type RevokedToken = z.infer<typeof RevokedToken>;

export const TokenList = z.object({ items: z.array(Token), next: z.null() }).meta({ id: "TokenList" });

/** `GET /v1/caller`: the caller to whom the token of the request belongs. */
export const CallerView = z
  .object({
    by: z.string().describe("how events name the caller"),
    project: z.string().nullable().describe("its project; null: it sees all projects"),
    scopes: z.array(Scope),
    limits: TokenLimits,
    expiresAt: InstantText.nullable(),
  })
  .meta({ id: "Caller" });
export type CallerView = z.infer<typeof CallerView>;
