// Which schemas are named components of the OpenAPI document?
import type { z } from "zod";
import * as audit from "../../schema/access/audit.ts";
import * as secret from "../../schema/access/secret.ts";
import * as token from "../../schema/access/token.ts";
import * as trust from "../../schema/access/trust.ts";
import * as host from "../../schema/host.ts";
import * as jobInputs from "../../schema/job/inputs.ts";
import * as jobParams from "../../schema/job/params.ts";
import * as jobSchedule from "../../schema/job/schedule.ts";
import * as machine from "../../schema/machine-state.ts";
import * as times from "../../schema/pool/times.ts";
import * as pool from "../../schema/pool.ts";
import * as problem from "../../schema/problem.ts";
import * as checks from "../../schema/run/checks.ts";
import * as container from "../../schema/run/container.ts";
import * as peaks from "../../schema/run/peaks.ts";
import * as run from "../../schema/run/run.ts";
import * as task from "../../schema/run/task.ts";
import * as webhook from "../../schema/webhook/webhook.ts";
import * as params from "./params.ts";

/**
 * Schemas that become components before any route is read. Other named schemas become components where the
 * library first meets them, and then include details of that place, such as a default or null.
 */
export const COMPONENTS: readonly z.ZodType[] = [
  params.StateWord,
  params.Flag,
  run.AllocStatus,
  run.TaskState,
  host.HostResources,
  host.LogPiece,
  host.Sample,
  host.SavedFiles,
  host.HostEngine,
  checks.CheckWord,
  checks.RunHealth,
  pool.IdleBehavior,
  times.PoolProbe,
  times.PoolRetention,
  times.Timeouts,
  task.Signal,
  task.Lifecycle,
  task.RestartInput,
  task.RescheduleInput,
  task.ResourcesWanted,
  task.TaskResources,
  task.Artifact,
  task.StartErrorCode,
  task.FakeInput,
  task.SecretUse,
  container.ImagePull,
  container.ContainerNetwork,
  container.Bind,
  container.Container,
  container.AllowedContainers,
  task.TaskInput,
  run.RunSpec,
  run.RunState,
  jobSchedule.Overlap,
  jobSchedule.Missed,
  jobSchedule.JobSchedule,
  jobParams.JobParam,
  jobInputs.JobPayload,
  jobInputs.JobMeta,
  run.Exit,
  peaks.Peaks,
  peaks.SizeAdvice,
  run.Attempt,
  run.Abort,
  run.Failure,
  problem.ErrorCode,
  problem.Problem,
  run.ServiceStatus,
  pool.WorkerStateName,
  pool.WorkerHistoryEntry,
  pool.MachineResources,
  machine.MachineState,
  pool.HoldOff,
  pool.InstanceType,
  pool.PutPoolConfig,
  pool.ShownPoolConfig,
  token.GrantedScope,
  token.Scope,
  token.PresetName,
  token.TokenState,
  token.TokenLimits,
  webhook.WebhookType,
  webhook.DisabledCode,
  webhook.EventType,
  webhook.DeliveryState,
  webhook.DeliveryAttempt,
  audit.AuditAction,
  audit.AuditActionFilter,
  audit.AuditActor,
  audit.AuditTarget,
  audit.AuditDiff,
  trust.TrustRule,
  secret.Secret,
  secret.WrappingKey,
];
