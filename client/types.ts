// The types of requests and answers, generated from the routes (`scripts/client-types.mjs`). Types that have
// no name in the API get a name here.
import type { Operations, RunState, RunStatus, Signal, WorkerSummary } from "../src/generated/api.ts";

export type * from "../src/generated/api.ts";

/** A run that has ended. */
export type EndedRun = Exclude<RunStatus, { state: "pending" | "running" }>;
export type WorkerState = WorkerSummary["state"];
export type SignalName = Signal;
export type EnrollmentRequest = Operations["createEnrollment"]["body"];
export type WebhookRequest = Operations["createWebhook"]["body"];
export type WebhookFields = Operations["putWebhook"]["body"];
export type ReplayRequest = Operations["replayDeliveries"]["body"];
export type AuditQuery = NonNullable<Operations["listAudit"]["query"]>;
export type RestoreRequest = Operations["restoreBackup"]["body"];
export type SecretValue = Operations["putSecret"]["body"];
export type TokenRequest = Operations["createToken"]["body"];
export type TrustRuleRequest = Operations["putTrustRule"]["body"];
/** What the state filter of a query accepts (api.md#state-filter). */
export type StateFilter = RunState | "done" | "all" | number;
