// What does `GET /v1/audit` answer (audit.md#entries)?
import { z } from "zod";
import { AUDIT_ACTIONS, AUDIT_FAMILIES } from "../../shared/access/audit-actions.ts";
import { InstantText } from "../common.ts";
import { ServiceStatus } from "../run/run.ts";

export const AuditAction = z.enum(AUDIT_ACTIONS).meta({ id: "AuditAction" });
export type AuditAction = z.output<typeof AuditAction>;

/** An action, or a family of actions. */
export const AuditActionFilter = z
  .enum([...AUDIT_ACTIONS, ...AUDIT_FAMILIES])
  .meta({ id: "AuditActionFilter" });

export const AuditActor = z
  .object({
    kind: z.string().describe("`admin` is the secret of the deployment; else `token`, `pool` and so on"),
    name: z.string(),
  })
  .meta({ id: "AuditActor" });

export const AuditTarget = z
  .object({
    kind: z.enum([
      "run",
      "worker",
      "pool",
      "token",
      "secret",
      "trust",
      "key",
      "session",
      "webhook",
      "job",
      "project",
      "caller",
      "log",
    ]),
    id: z.string(),
    name: z.string().optional().describe("the name of a token or a webhook"),
  })
  .meta({ id: "AuditTarget" });
export type AuditTarget = z.output<typeof AuditTarget>;

export const AuditDiff = z
  .object({
    field: z.string().describe("a JSON pointer"),
    from: z.string().nullable().describe("the value before, as JSON; null: there was none"),
    to: z.string().nullable().describe("the value since then; null: there is none"),
  })
  .meta({ id: "AuditDiff" });
export type AuditDiff = z.output<typeof AuditDiff>;

export const AuditVia = z
  .object({
    requestId: z.string().describe("also the header `X-Request-Id` of the answer, and in its `instance`"),
    address: z.string().nullable().describe("from where the request came; null: unknown"),
    userAgent: z.string().nullable().describe("what the program calls itself; null: nothing"),
  })
  .meta({ id: "AuditVia" });
export type AuditVia = z.output<typeof AuditVia>;

export const AuditEntry = z
  .object({
    id: z.string(),
    at: InstantText.describe("when it was done"),
    recordedAt: InstantText.describe("when the log got it; lists are sorted by this"),
    actor: AuditActor,
    action: AuditAction,
    target: AuditTarget,
    pool: z.string().nullable(),
    run: z.string().nullable().describe("the run that it concerns"),
    project: z.string().nullable().describe("whose entry it is; null: only callers without a project see it"),
    result: z.enum(["ok", "denied"]),
    reason: z.string().nullable(),
    diff: z.array(AuditDiff).nullable().describe("what it changed, without secrets"),
    via: AuditVia.nullable().describe("the request that asked for it; null: no request of a user did"),
  })
  .meta({ id: "AuditEntry" });
export type AuditEntry = z.output<typeof AuditEntry>;

export const AuditList = z
  .object({
    items: z.array(AuditEntry),
    next: z.string().nullable().describe("the `cursor` of the older entries; null: there are none"),
    follow: z.string().describe("the `after` with which a later request gets only what came since"),
    service: z.array(ServiceStatus).describe("the pools that were asked, and their health"),
  })
  .meta({ id: "AuditList" });
export type AuditList = z.output<typeof AuditList>;
