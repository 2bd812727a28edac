import { z } from "zod";
import { durationMs } from "../core/duration.ts";
import { Duration, InstantText, Json, Name, PositiveDuration, Size } from "./common.ts";
import { ServiceStatus } from "./run.ts";

export const InstanceType = z.strictObject({
  providerType: z.string().min(1).max(128).optional(),
  vcpus: z.int().min(1).max(1_024),
  memory: Size,
  disk: Size.default("0"),
  gpus: z.int().min(0).max(64).default(0),
  price: z.number().min(0).default(0),
});
export type InstanceType = z.output<typeof InstanceType>;

const HTTP_URL = /^https?:\/\/[^\s/]+/;

export const ProviderConfig = z.strictObject({
  kind: z.literal("http"),
  url: z.string().regex(HTTP_URL, "must be an http or https URL"),
  secret: z.string().min(1).max(1_024),
  powerOff: z
    .string()
    .min(1)
    .max(1_024)
    .optional()
    .meta({ description: "a command that ends such a machine from within, and its bill with it" }),
});
export type ProviderConfig = z.output<typeof ProviderConfig>;

const Timeouts = z.strictObject({
  boot: PositiveDuration.default("10m"),
  probe: PositiveDuration.default("10m"),
  idle: Duration.default("1m"),
  shutdown: PositiveDuration.default("10s"),
  lease: PositiveDuration.refine((text) => durationMs(text) >= 120_000, {
    error: "must be at least 2m",
  }).default("30m"),
});

export const PoolConfig = z
  .strictObject({
    provider: ProviderConfig,
    instanceTypes: z
      .record(Name, InstanceType)
      .refine((types) => Object.keys(types).length >= 1, { error: "must name at least one instance type" }),
    minInstances: z.int().min(0).max(10_000).default(0),
    maxInstances: z.int().min(0).max(10_000).default(64),
    maxRunsPerInstance: z.int().min(0).default(0).meta({ description: "0: as many as fit" }),
    maxConcurrentCreates: z.int().min(1).default(10),
    maxQueue: z.int().min(1).max(1_000_000).default(10_000),
    allowHostPaths: z.boolean().default(false),
    /** Absent in configurations that were stored before there was one. */
    allowFakeDriver: z.boolean().optional(),
    image: z.string().max(256).default(""),
    probe: z
      .strictObject({
        interval: PositiveDuration.default("10s"),
        boot: z.string().min(1).max(4_096).default("systemctl is-system-running"),
      })
      .prefault({}),
    timeouts: Timeouts.prefault({}),
    sync: z.strictObject({ interval: PositiveDuration.default("1m") }).prefault({}),
    retention: z
      .strictObject({
        runs: PositiveDuration.default("7d").meta({ description: "how long ended runs and their logs stay" }),
      })
      .prefault({}),
  })
  .meta({ id: "PoolConfig" });
export type PoolConfig = z.output<typeof PoolConfig>;
export type PoolConfigInput = z.input<typeof PoolConfig>;

/** Fields of the agreed API that a later version will take: named so that the refusal can say so. */
export const LATER_POOL_FIELDS = [
  "maxCloudOpsPerSecond",
  "priceFactor",
  "tags",
  "logs",
  "preemptible",
  "quotaGroup",
  "staleRun",
  "term",
  "unlisted",
  "maxKill",
] as const;

export const WORKER_STATES = ["unknown", "booting", "idle", "running", "shutdown", "gone"] as const;
export type WorkerState = (typeof WORKER_STATES)[number];

export const PoolView = z
  .object({
    name: z.string(),
    config: z.record(z.string(), Json).meta({ description: "as put, without the provider's secret" }),
    queue: z.object({ depth: z.int(), oldestAgeMs: z.int().nullable() }),
    runs: z.object({ pending: z.int(), running: z.int() }),
    workers: z.record(z.string(), z.int()).meta({ description: "number of workers by state" }),
    holdOffs: z.array(z.object({ scope: z.string(), until: InstantText, reason: z.string() })),
    cloudError: z.string().nullable().meta({ description: "why the cloud could not be asked what exists" }),
  })
  .meta({ id: "PoolView" });
export type PoolView = z.infer<typeof PoolView>;

export const PoolList = z
  .object({ items: z.array(PoolView), next: z.string().nullable(), service: z.array(ServiceStatus) })
  .meta({ id: "PoolList" });
export type PoolList = z.infer<typeof PoolList>;

export const WorkerEvent = z.object({
  at: InstantText,
  type: z.string(),
  code: z.string().optional().meta({ description: "of a refusal: why, for programs" }),
  message: z.string(),
});
export type WorkerEvent = z.infer<typeof WorkerEvent>;

const ResourcesView = z.object({
  vcpus: z.number(),
  memoryBytes: z.number(),
  diskBytes: z.number(),
  gpus: z.number(),
});

/** A worker as the pool's list shows it. */
export const WorkerSummary = z
  .object({
    id: z.string(),
    pool: z.string(),
    state: z.enum(WORKER_STATES),
    idleBehavior: z.enum(["run", "hold", "drain"]),
    instanceType: z.string(),
    own: z.boolean().meta({ description: "it has joined by a code: no provider made it or will destroy it" }),
    instance: z.string().nullable(),
    address: z.string().nullable(),
    price: z.number(),
    resources: ResourcesView,
    runs: z.array(z.string()),
    askedAt: InstantText,
    readyAt: InstantText.nullable(),
    reason: z.string().meta({ description: "why it is in this state" }),
  })
  .meta({ id: "WorkerSummary" });
export type WorkerSummary = z.infer<typeof WorkerSummary>;

export const WorkerList = z
  .object({
    items: z.array(WorkerSummary),
    next: z.string().nullable(),
    service: z.array(ServiceStatus),
  })
  .meta({ id: "WorkerList" });
export type WorkerList = z.infer<typeof WorkerList>;

/** A worker, whole. */
export const WorkerStatus = WorkerSummary.extend({
  version: z.int(),
  bootProbe: z.object({ ok: z.boolean(), output: z.string() }).nullable(),
  createdAt: InstantText.nullable(),
  joinedAt: InstantText.nullable(),
  lastReportAt: InstantText.nullable(),
  leaseUntil: InstantText.nullable(),
  incarnation: z.int(),
  ordersRevision: z.int(),
  orders: z.array(z.object({ run: z.string(), epoch: z.int(), attempts: z.array(z.string()) })),
  events: z.array(WorkerEvent),
}).meta({ id: "WorkerStatus" });
export type WorkerStatus = z.infer<typeof WorkerStatus>;

export const KillRequest = z.strictObject({ reason: z.string().max(1_024).optional() });
