// What do the routes of a backup answer and accept (backup.md#access)?
import { z } from "zod";
import { parseDuration } from "../../shared/duration.ts";
import { MAX_RESTORED } from "../../shared/limits.ts";
import { Duration, InstantInput, Name, ProjectName } from "../common.ts";
import { GrantedScope, TokenId, TokenLimits } from "./token.ts";
import { Issuer } from "./trust.ts";

/** Names of actors, rules and issuers' subjects; nothing of them is longer. */
const Text = z.string().min(1).max(1_024);
const Digest = z.string().min(1).max(128).describe("SHA-256 of the whole token, from which nobody gets it");
const Scopes = z.array(GrantedScope).max(64);
const Texts = z.record(Text, z.string().max(1_024));

/** A valid token as it is stored: its digest, and never its text. */
export const TokenBackup = z
  .strictObject({
    id: TokenId,
    name: Name,
    project: ProjectName,
    scopes: Scopes,
    limits: TokenLimits,
    payer: Text,
    digest: Digest,
    old: z
      .strictObject({ digest: Digest, until: InstantInput })
      .nullable()
      .describe("the secret before the latest rotation, while it is valid"),
    createdAt: InstantInput,
    createdBy: Text,
    parent: Text.nullable().describe("the id of the token that made it"),
    expiresAt: InstantInput.nullable(),
    rotatedAt: InstantInput.nullable(),
  })
  .meta({ id: "TokenBackup" });
export type TokenBackup = z.output<typeof TokenBackup>;

/** A trust rule as it is stored. */
export const RuleBackup = z
  .strictObject({
    name: Name,
    project: ProjectName,
    issuer: Issuer,
    audience: Text,
    claims: Texts,
    scopes: Scopes,
    limits: TokenLimits,
    labels: Texts,
    lifetime: Duration.refine((text) => (parseDuration(text) ?? 1) > 0, "must be longer than 0s"),
    payer: Text,
    createdAt: InstantInput,
    createdBy: Text,
    parent: Text.nullable(),
    expiresAt: InstantInput.nullable(),
  })
  .meta({ id: "TrustRuleBackup" });
export type RuleBackup = z.output<typeof RuleBackup>;

/** `GET /v1/backup`. */
export const AccessBackup = z
  .object({ tokens: z.array(TokenBackup), trustRules: z.array(RuleBackup) })
  .meta({ id: "AccessBackup" });
export type AccessBackup = z.output<typeof AccessBackup>;

/** `POST /v1/restore`. */
export const RestoreRequest = z
  .strictObject({
    tokens: z.array(TokenBackup).max(MAX_RESTORED).default([]),
    trustRules: z.array(RuleBackup).max(MAX_RESTORED).default([]),
    dryRun: z.boolean().default(false).describe("only say what would come of it"),
  })
  .meta({ id: "RestoreRequest" });
export type RestoreRequest = z.output<typeof RestoreRequest>;

/** What came of one thing that was to be restored. */
export const Restored = z
  .object({
    kind: z.enum(["token", "trust_rule"]),
    name: z.string(),
    project: z.string(),
    result: z.enum(["created", "exists", "refused"]).describe("`exists`: nothing had to be done"),
    reason: z.string().nullable().describe("why it was refused; null: it was not"),
  })
  .meta({ id: "Restored" });
export type Restored = z.output<typeof Restored>;

export const RestoredList = z
  .object({ items: z.array(Restored), next: z.null() })
  .meta({ id: "RestoredList" });
