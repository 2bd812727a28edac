import { z } from "zod";
import { durationMs } from "../shared/duration.ts";
import { MAX_POOL_TAGS } from "../shared/limits.ts";
import { Duration, InstantText, Interval, Name, PositiveDuration, Size } from "./common.ts";
import { MachineState, Unmade } from "./machine-state.ts";
import { contradictions, type Ruled } from "./pool-rules.ts";
import { RunSummary, ServiceStatus } from "./run/run.ts";
import { ServiceUrl } from "./service-url.ts";

export const InstanceType = z
  .strictObject({
    providerType: z.string().min(1).max(128).optional(),
    vcpus: z.int().min(1).max(1_024),
    memory: Size,
    disk: Size.default("0"),
    gpus: z.int().min(0).max(64).default(0),
    /** Configurations that were stored before it could be left out have 0 then. */
    price: z.number().min(0).optional().meta({
      description: "the list price of an hour, in a currency of yours; left out: not known, 0: free",
    }),
    preemptible: z.boolean().optional().meta({ description: "the provider may take such a machine back" }),
    quotaGroup: Name.optional().meta({
      description: "types of one group share a quota, spot ones their own",
    }),
  })
  .meta({ id: "InstanceType" });
export type InstanceType = z.output<typeof InstanceType>;

export const ProviderConfig = z.strictObject({
  kind: z.literal("http"),
  url: ServiceUrl,
  secret: z
    .string()
    .max(1_024)
    .regex(/^[!-~]+$/, "must be letters, digits and signs of ASCII without blanks: it goes into a header"),
  powerOff: z
    .string()
    .min(1)
    .max(1_024)
    .optional()
    .meta({ description: "a command that ends such a machine from within, and its bill with it" }),
  notice: z
    .string()
    .min(1)
    .max(1_024)
    .optional()
    .meta({ description: "a command that prints a notice when the provider takes such a machine back" }),
});
export type ProviderConfig = z.output<typeof ProviderConfig>;

/** Tags that each machine of a pool gets. Those by which Drover finds its machines are its own. */
const Tags = z
  .record(z.string().min(1).max(128), z.string().max(256))
  .refine((tags) => Object.keys(tags).length <= MAX_POOL_TAGS, {
    error: `must be at most ${MAX_POOL_TAGS} tags`,
  })
  .refine((tags) => !Object.keys(tags).some((tag) => tag.startsWith("drover-")), {
    error: "must not have tags that begin with `drover-`: those are Drover's own",
  });

/** How long each part of the life of a machine may take. */
export const Timeouts = z
  .strictObject({
    boot: Interval.default("10m"),
    probe: Interval.default("10m"),
    idle: Duration.default("1m").meta({ description: "0s: a machine without runs is destroyed at once" }),
    shutdown: Interval.default("10s"),
    /** Absent in configurations that were stored before there was one. */
    staleRun: Interval.optional().meta({
      description: "so long may something hold on to a run that has ended: 5s if left out",
    }),
    unlisted: Interval.optional().meta({
      description: "so long may a machine be missing from listings that was just made: 2m if left out",
    }),
    maxKill: PositiveDuration.optional().meta({
      description: "a longer `killTimeout` of a run is cut to this: 1h if left out",
    }),
    lease: PositiveDuration.refine((text) => durationMs(text) >= 120_000, {
      error: "must be at least 2m",
    }).default("30m"),
  })
  .meta({ id: "PoolTimeouts" });

/** What tells whether a machine has booted. */
export const PoolProbe = z
  .strictObject({
    interval: Interval.default("10s"),
    boot: z.string().min(1).max(4_096).default("systemctl is-system-running"),
  })
  .meta({ id: "PoolProbe" });

/** For how long what has ended stays. Short ones cost nothing more: the pool looks once a minute. */
export const PoolRetention = z
  .strictObject({
    runs: PositiveDuration.default("7d").meta({ description: "how long ended runs stay" }),
    logs: PositiveDuration.optional().meta({
      description: "how long their logs stay, if not as long as the runs",
    }),
  })
  .refine(({ runs, logs }) => logs === undefined || durationMs(logs) <= durationMs(runs), {
    error: "must not be longer than `runs`: logs go with their run",
    path: ["logs"],
  })
  .meta({ id: "PoolRetention" });

/** The fields of a pool, without the rules that tie them together (`pool-rules.ts`). */
const Fields = z.strictObject({
  provider: ProviderConfig,
  instanceTypes: z
    .record(Name, InstanceType)
    .refine((types) => Object.keys(types).length >= 1, { error: "must name at least one instance type" }),
  minInstances: z.int().min(0).max(10_000).default(0),
  maxInstances: z.int().min(0).max(10_000).default(64),
  maxRunsPerInstance: z.int().min(0).default(0).meta({ description: "0: as many as fit" }),
  maxConcurrentCreates: z.int().min(1).default(10),
  /** Absent in configurations that were stored before there was one: 1.5. */
  priceFactor: z.number().min(1).max(1_000).optional().meta({
    description: "a machine may cost so many times what the cheapest that fits costs; 1.5 if left out",
  }),
  maxCloudOpsPerSecond: z
    .int()
    .min(1)
    .max(1_000)
    .default(10)
    .meta({
      description:
        "the most calls to the provider in any second: listings first, then destroys, then creates; " +
        "a kill by name does not wait",
    }),
  tags: Tags.optional(),
  maxQueue: z.int().min(1).max(1_000_000).default(10_000),
  allowHostPaths: z.boolean().default(false),
  /** Absent in configurations that were stored before there was one. */
  allowFakeDriver: z.boolean().optional(),
  allowRunsWithoutGpus: z.boolean().optional().meta({
    description:
      "whether runs that ask for no GPU use machines with GPUs although a type without GPUs can hold them",
  }),
  image: z.string().max(256).default(""),
  probe: PoolProbe.prefault({}),
  timeouts: Timeouts.prefault({}),
  sync: z.strictObject({ interval: Interval.default("1m") }).prefault({}),
  retention: PoolRetention.prefault({}),
});

function refuseContradictions(config: Ruled, { addIssue }: z.RefinementCtx): void {
  for (const { path, message } of contradictions(config)) addIssue({ code: "custom", path, message });
}

export const PoolConfig = Fields.superRefine(refuseContradictions);
export type PoolConfig = z.output<typeof PoolConfig>;
export type PoolConfigInput = z.input<typeof PoolConfig>;

/** A pool's configuration as it is put: one that was read has no secret in it, and can be put again. */
export const PutPoolConfig = Fields.extend({
  provider: ProviderConfig.extend({
    secret: ProviderConfig.shape.secret.optional().meta({
      description: "may be left out if the pool exists and has a provider with the same `url`: it stays",
    }),
  }).meta({ id: "Provider" }),
})
  .superRefine(refuseContradictions)
  .meta({ id: "PoolConfig" });
export type PutPoolConfig = z.output<typeof PutPoolConfig>;

/** A pool's configuration as it is read. */
export const ShownPoolConfig = Fields.extend({
  provider: ProviderConfig.omit({ secret: true }).meta({ id: "ShownProvider" }),
}).meta({ id: "ShownPoolConfig" });

/** Fields of the agreed API that a later version will take: named so that the refusal can say so. */
export const LATER_POOL_FIELDS = ["term"] as const;

export const WORKER_STATES = ["unknown", "booting", "idle", "running", "shutdown", "gone"] as const;
export const WorkerState = z.enum(WORKER_STATES).meta({ id: "WorkerState" });
export type WorkerState = z.output<typeof WorkerState>;

export const IdleBehavior = z.enum(["run", "hold", "drain"]).meta({ id: "IdleBehavior" });

/** Why no machine is asked for. */
export const HOLD_CAUSES = ["rate_limit", "quota", "capacity", "temporary", "invalid", "boot"] as const;

export const HoldOff = z
  .object({
    scope: z.string().meta({ description: "all, group:NAME, group:NAME:spot, type:NAME; of listings list" }),
    cause: z.enum(HOLD_CAUSES),
    until: InstantText.nullable().meta({ description: "null: until the configuration changes" }),
    trying: z.boolean().meta({ description: "its time is over: one machine at a time is tried" }),
    tries: z.int().meta({ description: "failures in a row" }),
    reason: z.string(),
  })
  .meta({ id: "HoldOff" });

/** What the machines of a pool cost. */
export const PoolSpend = z
  .object({
    perHour: z.number().meta({ description: "what all machines that may exist cost in an hour" }),
    unpriced: z.int().meta({ description: "machines whose price is not known: not in `perHour`" }),
    worstPerHour: z
      .number()
      .nullable()
      .meta({ description: "`maxInstances` of the dearest type; null: the price of a type is not known" }),
  })
  .meta({ id: "PoolSpend" });
export type PoolSpend = z.infer<typeof PoolSpend>;

export const PoolView = z
  .object({
    name: z.string(),
    config: ShownPoolConfig.meta({ description: "as put, without the provider's secret" }),
    queue: z.object({ depth: z.int(), oldestAgeMs: z.int().nullable() }),
    runs: z.object({ pending: z.int(), running: z.int() }),
    workers: z.record(z.string(), z.int()).meta({ description: "number of workers by state" }),
    unmade: Unmade.optional(),
    holdOffs: z.array(HoldOff),
    leaving: z
      .boolean()
      .optional()
      .meta({ description: "it is being deleted: it takes no more runs, and is gone when it is empty" }),
    spend: PoolSpend.optional(),
    strangers: z.array(z.string()).optional().meta({
      description: "machines with the pool's tag that no worker of it counts as its own: left alone",
    }),
    cloudError: z.string().nullable().meta({ description: "why the cloud could not be asked what exists" }),
  })
  .meta({ id: "PoolView" });
export type PoolView = z.infer<typeof PoolView>;

/** A machine that may exist although nobody waits for proof that it does not. */
export const LeftBehind = z
  .object({
    worker: z.string(),
    instance: z
      .string()
      .nullable()
      .meta({ description: "its id at the provider; null: it is not known whether there is one" }),
    provider: z.string().meta({ description: "the address of the provider where to look for it" }),
  })
  .meta({ id: "LeftBehind" });

export const PoolDeletion = z
  .object({
    name: z.string(),
    deleted: z
      .boolean()
      .meta({ description: "false: it is as soon as its runs have ended, and its machines" }),
    leftBehind: z
      .array(LeftBehind)
      .optional()
      .meta({ description: "with `force`: machines that may be left, to be looked for at the provider" }),
  })
  .meta({ id: "PoolDeletion" });
export type PoolDeletion = z.infer<typeof PoolDeletion>;

export const PoolList = z
  .object({ items: z.array(PoolView), next: z.string().nullable(), service: z.array(ServiceStatus) })
  .meta({ id: "PoolList" });
export type PoolList = z.infer<typeof PoolList>;

export const WorkerEvent = z
  .object({
    at: InstantText,
    type: z.string(),
    code: z.string().optional().meta({ description: "of a refusal: why, for programs" }),
    message: z.string(),
  })
  .meta({ id: "WorkerEvent" });
export type WorkerEvent = z.infer<typeof WorkerEvent>;

export const MachineResources = z
  .object({
    vcpus: z.number(),
    memoryBytes: z.number(),
    diskBytes: z.number(),
    gpus: z.number(),
  })
  .meta({ id: "MachineResources" });

/** A worker as the pool's list shows it. */
export const WorkerSummary = z
  .object({
    id: z.string(),
    pool: z.string(),
    state: WorkerState,
    idleBehavior: IdleBehavior,
    instanceType: z.string(),
    providerType: z.string().nullable().meta({
      description: "what its provider calls that type; null: no provider made it",
    }),
    own: z.boolean().meta({ description: "it has joined by a code: no provider made it or will destroy it" }),
    instance: z.string().nullable(),
    address: z.string().nullable(),
    price: z.number().nullable().meta({
      description: "of an hour: as its provider says, or else by the list; null: not known",
    }),
    resources: MachineResources,
    runs: z.array(z.string()),
    askedAt: InstantText,
    readyAt: InstantText.nullable(),
    machine: MachineState.nullable().optional().meta({
      description: "what came of asking the provider for its machine; null: it is a self-hosted machine",
    }),
    doubles: z
      .array(z.string())
      .optional()
      .meta({
        description:
          "other machines that its provider lists under its name: they cost money, and are left alone " +
          "until this worker has gone, since its host may run on any of them",
      }),
    reason: z.string().meta({ description: "why it is in this state" }),
  })
  .meta({ id: "WorkerSummary" });
export type WorkerSummary = z.infer<typeof WorkerSummary>;

/** A worker in a list of workers, with what it did last. */
export const ListedWorker = WorkerSummary.extend({
  idleSince: InstantText.nullable().meta({
    description: "since when it has been ready with no run on it; null: it is not idle, or it is not known",
  }),
  lastRun: z
    .object({ run: z.string(), endedAt: InstantText })
    .nullable()
    .meta({ description: "the run that ended there last; null: none has, or it is not known any more" }),
}).meta({ id: "ListedWorker" });
export type ListedWorker = z.infer<typeof ListedWorker>;

export const WorkerList = z
  .object({
    items: z.array(ListedWorker),
    next: z.string().nullable(),
    service: z.array(ServiceStatus),
  })
  .meta({ id: "WorkerList" });
export type WorkerList = z.infer<typeof WorkerList>;

/** A worker, whole. */
export const WorkerStatus = ListedWorker.extend({
  version: z.int(),
  prices: z
    .array(z.object({ price: z.number(), since: InstantText }))
    .meta({ description: "what its provider has said that an hour costs: each change, latest last" }),
  bootProbe: z
    .object({
      ok: z.boolean(),
      output: z.string(),
      exitCode: z
        .int()
        .nullable()
        .optional()
        .meta({ description: "of the probe's command; null: a signal ended it, or it is not known" }),
    })
    .nullable(),
  bootOutcome: z.enum(["success", "failure", "aborted", "disappeared"]).nullable(),
  notice: z
    .object({ text: z.string(), goneAt: InstantText.nullable() })
    .nullable()
    .meta({ description: "what its host says of its machine's near end: it drains meanwhile" }),
  stale: z
    .array(z.object({ run: z.string(), holder: z.string().nullable(), since: InstantText }))
    .meta({ description: "runs that have ended there, and to which something still holds on" }),
  createdAt: InstantText.nullable(),
  joinedAt: InstantText.nullable(),
  lastReportAt: InstantText.nullable(),
  leaseUntil: InstantText.nullable(),
  leftBehind: LeftBehind.optional().meta({
    description: "its end was forced, and may leave this machine behind: look for it at the provider",
  }),
  incarnation: z.int(),
  ordersRevision: z.int(),
  orders: z.array(z.object({ run: z.string(), epoch: z.int(), attempts: z.array(z.string()) })),
  events: z.array(WorkerEvent),
}).meta({ id: "WorkerStatus" });
export type WorkerStatus = z.infer<typeof WorkerStatus>;

/** A row of a pool that has changed, as it is now. */
export const PoolEvent = z
  .object({
    number: z.int().meta({ description: "of its latest change: higher ones are later" }),
    run: RunSummary.optional(),
    worker: WorkerSummary.optional(),
  })
  .meta({ id: "PoolEvent" });
export type PoolEvent = z.infer<typeof PoolEvent>;

export const PoolEventList = z
  .object({
    items: z.array(PoolEvent),
    next: z.int().meta({ description: "the `after` of the next question" }),
  })
  .meta({ id: "PoolEventList" });
export type PoolEventList = z.infer<typeof PoolEventList>;

export const KillRequest = z.strictObject({
  reason: z.string().max(1_024).optional(),
  force: z.boolean().optional().meta({
    description: "wait for no listing that shows that its machine is gone: the machine may be left behind",
  }),
});
