// What do the routes of a backup answer and accept (backup.md#access)?
import { z } from "zod";
import { MAX_RESTORED } from "../../shared/limits.ts";
import { InstantInput, Name, ProjectName } from "../common.ts";
import { SecretName } from "../run/secret-name.ts";
import { GrantedScope, TokenId, TokenLimits } from "./token.ts";
import { TrustRuleRequest } from "./trust.ts";

/** Names of actors, rules and issuers' subjects; nothing of them is longer. */
const Text = z.string().min(1).max(1_024);
const Digest = z.string().min(1).max(128).describe("SHA-256 of the whole token, from which nobody gets it");
const Scopes = z.array(GrantedScope).max(64);
/** What a rule may say is the same for one that comes back (backup.md#access). */
const { issuer, audience, claims, labels, lifetime } = TrustRuleRequest.shape;

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
    issuer,
    audience: audience.unwrap(),
    claims,
    scopes: Scopes,
    limits: TokenLimits,
    labels: labels.unwrap(),
    lifetime: lifetime.unwrap(),
    payer: Text,
    createdAt: InstantInput,
    createdBy: Text,
    parent: Text.nullable(),
    expiresAt: InstantInput.nullable(),
  })
  .meta({ id: "TrustRuleBackup" });
export type RuleBackup = z.output<typeof RuleBackup>;

/** Whose secret the provider of a pool gets. */
const PoolSecret = z.object({ pool: z.string(), secret: SecretName, project: z.string() });

/** `GET /v1/backup`. */
export const AccessBackup = z
  .object({
    tokens: z.array(TokenBackup),
    trustRules: z.array(RuleBackup),
    poolSecrets: z.array(PoolSecret).describe("by pool: the secret that its provider gets, and whose it is"),
  })
  .meta({ id: "AccessBackup" });
export type AccessBackup = z.output<typeof AccessBackup>;

/**
 * A token or a rule that is to come back. Each is judged by itself, so that one that this version cannot read
 * does not stop the others (backup.md#restore).
 */
const RestoredItem = z.looseObject({ name: Text, project: Text }).meta({
  id: "RestoredItem",
  description: "as `GET /v1/backup` has it; what does not fit is refused by itself",
});

/** `POST /v1/restore`. */
export const RestoreRequest = z
  .strictObject({
    madeAt: InstantInput.describe("when the backup was made"),
    tokens: z.array(RestoredItem).max(MAX_RESTORED).default([]),
    trustRules: z.array(RestoredItem).max(MAX_RESTORED).default([]),
    dryRun: z.boolean().default(false).describe("only say what would come of it"),
    expectedProjects: z
      .array(ProjectName)
      .max(MAX_RESTORED)
      .default([])
      .describe("for `dryRun`: projects that count as there, since they would have been made before"),
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
