// What pools and workers look like on the wire: configuration, views, lists, changes.
import { z } from "zod";
import { MAX_POOL_TAGS } from "../shared/limits.ts";
import { WORKER_STATES } from "../shared/run-state.ts";
import { Duration, InstantText, Interval, Name, Size } from "./common.ts";
import { HostEngine } from "./host.ts";
import { MachineState, Unmade } from "./machine-state.ts";
import { ProviderConfig, PutProvider, ShownProvider } from "./pool/provider-config.ts";
import { PoolProjects, ProjectUse } from "./pool/quota.ts";
import { PoolProbe, PoolRetention, Timeouts } from "./pool/times.ts";
import { addContradictions, type Ruled } from "./pool-rules.ts";
import { FAILURE_CLASSES } from "./provider.ts";
import { BootStep } from "./run/boot.ts";
import { AllowedContainers } from "./run/container.ts";
import { WorkerDevice } from "./run/devices.ts";
import { Arch, Gpu } from "./run/machine-asks.ts";
import { ServiceStatus } from "./run/run.ts";

export const InstanceType = z
  .strictObject({
    providerType: z.string().min(1).max(128).optional(),
    vcpus: z.int().min(1).max(1_024),
    memory: Size,
    disk: Size.default("0"),
    gpus: z.int().min(0).max(64).default(0),
    price: z
      .number()
      .min(0)
      .optional()
      .describe("the list price of an hour, in your currency; absent: unknown, 0: free"),
    preemptible: z.boolean().optional().describe("the provider may interrupt these machines"),
    fallback: z
      .strictObject({ price: z.number().min(0).optional() })
      .optional()
      .describe(
        "for preemptible types: when none can be had, machines of the same type that the provider does not " +
          "interrupt are created, at this price",
      ),
    arch: Arch.optional().describe("`x64` if absent"),
    gpu: Gpu.optional(),
    zones: z
      .array(z.string().min(1).max(64))
      .min(1)
      .max(40)
      .optional()
      .describe("where its machines may be, best first; if absent, as the provider's configuration says"),
    quotaGroup: Name.optional().describe(
      "the types of a group share a quota; its preemptible types share a separate quota",
    ),
  })
  .meta({ id: "InstanceType" });
export type InstanceType = z.output<typeof InstanceType>;

/** Tags for each machine of a pool. The prefix `drover-` is reserved for Drover's own tags. */
const Tags = z
  .record(z.string().min(1).max(128), z.string().max(256))
  .refine((tags) => Object.keys(tags).length <= MAX_POOL_TAGS, `must be at most ${MAX_POOL_TAGS} tags`)
  .refine(
    (tags) => !Object.keys(tags).some((tag) => tag.startsWith("drover-")),
    "must not have tags that begin with `drover-`, which are reserved",
  );

/** The fields of a pool, without the rules between them (`pool-rules.ts`). */
const Fields = z.strictObject({
  provider: ProviderConfig,
  instanceTypes: z.record(Name, InstanceType).default({}),
  minInstances: z.int().min(0).max(10_000).default(0),
  maxInstances: z.int().min(0).max(10_000).default(64),
  maxRunsPerInstance: z.int().min(0).default(0).describe("0: as many as fit"),
  maxConcurrentCreates: z.int().min(1).default(10),
  priceFactor: z
    .number()
    .min(1)
    .max(1_000)
    .default(1.5)
    .describe("highest price of a machine, as a multiple of the price of the cheapest that fits"),
  maxCloudOpsPerSecond: z
    .int()
    .min(1)
    .max(1_000)
    .default(10)
    .describe(
      "the most calls to the provider per second: listings first, then destroys, then creates; " +
        "killing a worker by id is not delayed by this limit",
    ),
  tags: Tags.default({}),
  maxQueue: z.int().min(1).max(1_000_000).default(10_000),
  allowHostPaths: z.boolean().default(false),
  allowFakeDriver: z.boolean().default(false),
  allowContainers: AllowedContainers.optional().describe(
    "what containers may have that lowers the wall between them and the machine; absent: nothing",
  ),
  allowRunsWithoutGpus: z
    .boolean()
    .default(false)
    .describe(
      "whether runs without GPUs may use machines with GPUs although a type without GPUs could hold them",
    ),
  projects: PoolProjects.optional().describe(
    "the projects that may use the pool, with their quotas; if absent, only `default`",
  ),
  shareMachines: z
    .boolean()
    .default(false)
    .describe("whether a machine may have runs of several projects; if not, it belongs to the first one"),
  spotPatience: Duration.default("2m").describe(
    "how long a run waits for a preemptible machine before the `fallback` of its type is used",
  ),
  image: z.string().max(256).default(""),
  replaceOnNewImage: z
    .boolean()
    .default(false)
    .describe("whether machines with another image drain one after the other when `image` changes"),
  probe: PoolProbe.prefault({}),
  timeouts: Timeouts.prefault({}),
  sync: z.strictObject({ interval: Interval.default("1m") }).prefault({}),
  retention: PoolRetention.prefault({}),
});

function refuseContradictions(config: Ruled, { addIssue }: z.RefinementCtx): void {
  addContradictions(config, (path, message) => addIssue({ code: "custom", path, message }));
}

export const PoolConfig = Fields.superRefine(refuseContradictions);
export type PoolConfig = z.output<typeof PoolConfig>;
export type PoolConfigInput = z.input<typeof PoolConfig>;

/** A pool's configuration in a PUT. The secret is optional, so that a PUT accepts what a GET has answered. */
export const PutPoolConfig = Fields.extend({ provider: PutProvider })
  .superRefine(refuseContradictions)
  .meta({ id: "PoolConfig" });
export type PutPoolConfig = z.output<typeof PutPoolConfig>;

export const ShownPoolConfig = Fields.extend({ provider: ShownProvider }).meta({ id: "ShownPoolConfig" });

/** Planned fields, listed so that the error can say that they are not supported yet. */
export const LATER_POOL_FIELDS = ["term"] as const;

export const WorkerStateName = z.enum(WORKER_STATES).meta({ id: "WorkerStateName" });
export type WorkerStateName = z.output<typeof WorkerStateName>;

export const IdleBehavior = z.enum(["run", "hold", "drain"]).meta({ id: "IdleBehavior" });

export const HOLD_CAUSES = [...FAILURE_CLASSES, "boot"] as const;

export const HoldOff = z
  .object({
    scope: z.string().describe("`all`, `group:NAME`, `group:NAME:spot`, `type:NAME`, or `list`"),
    cause: z.enum(HOLD_CAUSES),
    until: InstantText.nullable().describe("null: until the configuration changes"),
    trying: z.boolean().describe("it has expired, and one machine at a time is tried"),
    tries: z.int().describe("failures in a row"),
    reason: z.string(),
  })
  .meta({ id: "HoldOff" });

export const PoolSpend = z
  .object({
    perHour: z.number().describe("cost per hour of all machines that may exist"),
    unpriced: z.int().describe("machines of unknown price, not in `perHour`"),
    worstPerHour: z
      .number()
      .nullable()
      .describe("cost of `maxInstances` of the most expensive type; null: unknown"),
  })
  .meta({ id: "PoolSpend" });
export type PoolSpend = z.infer<typeof PoolSpend>;

export const PoolView = z
  .object({
    name: z.string(),
    config: ShownPoolConfig.describe("as it was sent, without the text of the provider's secret"),
    queue: z.object({ depth: z.int(), oldestAgeMs: z.int().nullable() }),
    runs: z.object({ pending: z.int(), running: z.int() }),
    workers: z.record(z.string(), z.int()).describe("number of workers by state"),
    unmade: Unmade.optional(),
    holdOffs: z.array(HoldOff),
    leaving: z.boolean().optional().describe("it takes no more runs, and is deleted once it is empty"),
    spend: PoolSpend.optional(),
    projects: z
      .record(z.string(), ProjectUse)
      .optional()
      .describe("what each project that the configuration names uses of the pool"),
    strangers: z
      .array(z.string())
      .optional()
      .describe("machines with the pool's tag that belong to no worker; Drover leaves them alone"),
    cloudError: z
      .string()
      .nullable()
      .describe("why the provider's machines could not be listed, or destroyed"),
  })
  .meta({ id: "PoolView" });
export type PoolView = z.infer<typeof PoolView>;

/** A run that has failed, and that its machine keeps for a look (tasks.md#kept). */
const KeptRun = z.object({ run: z.string(), until: InstantText }).meta({ id: "KeptRun" });

/** A machine that may still exist although Drover has stopped waiting for proof of its end. */
export const LeftBehind = z
  .object({
    worker: z.string(),
    instance: z.string().nullable().describe("its id at the provider; null: unknown"),
    others: z
      .array(z.string())
      .optional()
      .describe("ids of other machines that the provider made under the worker's name"),
    provider: z.string().describe("the address of its provider"),
  })
  .meta({ id: "LeftBehind" });
export type LeftBehind = z.infer<typeof LeftBehind>;

export const PoolDeletion = z
  .object({
    name: z.string(),
    deleted: z.boolean().describe("false: it will be deleted once its runs and machines have ended"),
    leftBehind: z
      .array(LeftBehind)
      .optional()
      .describe("with `force`: machines that may be left at the provider; look for them there"),
  })
  .meta({ id: "PoolDeletion" });
export type PoolDeletion = z.infer<typeof PoolDeletion>;

export const PoolList = z
  .object({ items: z.array(PoolView), next: z.string().nullable(), service: z.array(ServiceStatus) })
  .meta({ id: "PoolList" });
export type PoolList = z.infer<typeof PoolList>;

export const WorkerHistoryEntry = z
  .object({
    at: InstantText,
    type: z.string(),
    code: z
      .string()
      .optional()
      .describe("only if this entry is about a refusal: its reason, as a code for programs"),
    message: z.string(),
  })
  .meta({ id: "WorkerHistoryEntry" });
export type WorkerHistoryEntry = z.infer<typeof WorkerHistoryEntry>;

export const MachineResources = z
  .object({
    vcpus: z.number(),
    memoryBytes: z.number(),
    diskBytes: z.number(),
    gpus: z.number(),
  })
  .meta({ id: "MachineResources" });

export const WorkerSummary = z
  .object({
    id: z.string(),
    pool: z.string(),
    project: z
      .string()
      .nullable()
      .describe(
        "the project to which its machine belongs; null: to none yet, or the pool's projects share it; " +
          "`*`: several projects have used it that no longer share machines, so it takes no more runs",
      ),
    state: WorkerStateName,
    idleBehavior: IdleBehavior,
    instanceType: z.string(),
    providerType: z
      .string()
      .nullable()
      .describe("the provider's name for that type; null: no provider made the machine"),
    own: z
      .boolean()
      .describe("it is self-hosted: it joined by a code, and no provider made it or will destroy it"),
    instance: z.string().nullable(),
    address: z.string().nullable(),
    price: z
      .number()
      .nullable()
      .describe("per hour: the provider's price, or else the type's list price; null: unknown"),
    resources: MachineResources,
    used: MachineResources.optional().describe(
      "what the runs on it have reserved of `resources`, however much of that they need; absent: the " +
        "machine may have runs of other projects",
    ),
    runs: z.array(z.string()),
    kept: z
      .array(KeptRun)
      .optional()
      .describe("of `runs`: those that have failed, and that the machine keeps for a look; absent: none"),
    askedAt: InstantText,
    readyAt: InstantText.nullable(),
    machine: MachineState.nullable()
      .optional()
      .describe("the outcome of asking the provider for its machine; null: it is a self-hosted machine"),
    doubles: z
      .array(z.string())
      .optional()
      .describe(
        "other machines that the provider lists under this worker's name; they cost money, and are not " +
          "destroyed until this worker is gone, since its host may run on any of them",
      ),
    reason: z.string().describe("why it is in this state"),
  })
  .meta({ id: "WorkerSummary" });
export type WorkerSummary = z.infer<typeof WorkerSummary>;

/** A worker in a list of workers, with its last activity. */
export const ListedWorker = WorkerSummary.extend({
  idleSince: InstantText.nullable().describe("when it became idle; null: it is not idle, or this is unknown"),
  lastRun: z
    .object({ run: z.string(), endedAt: InstantText })
    .nullable()
    .describe("the run that ended last on this worker; null: unknown"),
  protocol: z
    .int()
    .optional()
    .describe("the protocol that its host speaks: 0 takes commands only, or has reported none yet"),
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

/** All that a worker knows of itself. The project of its machine is known to its pool alone. */
export const WorkerStatus = ListedWorker.omit({ project: true, protocol: true })
  .extend({
    version: z.int(),
    prices: z
      .array(z.object({ price: z.number(), since: InstantText }))
      .describe("each price per hour that its provider has named, latest last"),
    devices: z
      .array(WorkerDevice)
      .optional()
      .describe("its GPUs, as its host reports them, and who has them; absent: its host names none"),
    devicesFault: z.string().optional().describe("why its host does not know its GPUs; absent: it does"),
    boot: z
      .array(BootStep)
      .optional()
      .describe("what the script that makes its machine a host has reported, by the steps of the boot"),
    bootProbe: z
      .object({
        ok: z.boolean(),
        output: z.string(),
        exitCode: z
          .int()
          .nullable()
          .optional()
          .describe("of the probe's command; null: ended by a signal, or unknown"),
      })
      .nullable(),
    bootOutcome: z.enum(["success", "failure", "aborted", "disappeared", "withdrawn"]).nullable(),
    notice: z
      .object({ text: z.string(), goneAt: InstantText.nullable() })
      .nullable()
      .describe("its host's notice that the machine will end soon; it drains meanwhile"),
    stale: z
      .array(z.object({ run: z.string(), holder: z.string().nullable(), since: InstantText }))
      .describe("runs that have ended on this worker but left something behind"),
    engine: HostEngine.optional().describe(
      "the container engine of its machine; absent: it has reported none",
    ),
    createdAt: InstantText.nullable(),
    joinedAt: InstantText.nullable(),
    lastReportAt: InstantText.nullable(),
    leaseUntil: InstantText.nullable(),
    leftBehind: LeftBehind.optional().describe(
      "its end was forced, so this machine may be left at the provider: look for it there",
    ),
    incarnation: z.int(),
    ordersRevision: z.int(),
    orders: z.array(z.object({ run: z.string(), epoch: z.int(), attempts: z.array(z.string()) })),
    events: z.array(WorkerHistoryEntry),
  })
  .meta({ id: "WorkerStatus" });
export type WorkerStatus = z.infer<typeof WorkerStatus>;

export const KillRequest = z.strictObject({
  reason: z.string().max(1_024).optional(),
  force: z
    .boolean()
    .optional()
    .describe("do not wait until the provider stops listing the machine, which may be left behind"),
});
