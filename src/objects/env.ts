// Which bindings does the Worker have?
import type { Via } from "../core/audit/via.ts";
import type { RunUsage } from "../core/worker/read/usage.ts";
import type { Why } from "../schema/why.ts";
import type { Millis } from "../shared/machine.ts";
import type { JobApi } from "./jobs/api.ts";
import type { Mailbox } from "./messages/post.ts";
import type { AllocationApi, CloudWorkerApi, PoolApi } from "./rpc.ts";
import type { WebhookApi } from "./webhooks/api.ts";

/** The objects of a class, by name. */
export interface Namespace<Stub> {
  getByName(name: string): Stub;
}

/** The methods of an allocation for the edge and other objects. */
export interface AllocationStub extends AllocationApi, Mailbox<"allocation"> {}

/** The methods of a worker for the edge and other objects. */
export interface CloudWorkerStub extends CloudWorkerApi, Mailbox<"worker"> {
  why(run?: string): Promise<Why>;
  /** Usage of a run's attempts; null: unknown. Waits for a moment if the host must be asked. */
  usage(run: string): Promise<RunUsage | null>;
}

/** The methods of a pool for the edge and other objects. */
export interface PoolStub extends PoolApi, Mailbox<"pool"> {
  /** `all`: also wakes the pool's live runs and workers, since their alarms may follow another clock. */
  poke(all: boolean): Promise<void>;
  /** Why a run of this pool waits. Null: the run does not wait. */
  explain(run: string): Promise<Why | null>;
  /** Takes a call to the provider for a person: 0, or how long to wait instead (clouds.md#console). */
  takeCall(): Promise<Millis>;
  /** Counts invariants that a step of an object of this pool has broken. */
  violated(machine: string, count: number): Promise<void>;
}

/** The methods of an endpoint of webhooks for the edge and other objects. */
export interface WebhookStub extends WebhookApi, Mailbox<"webhook"> {}

/** The methods of a job for the edge and other objects. */
export interface JobStub extends JobApi {}

/** The registry for the edge and other objects. They call it through `registryOf`. */
export interface RegistryStub {
  /** Makes a call of `RegistryApi`. `via`: the request of a user that makes it. */
  call(method: string, args: unknown[], via?: Via): Promise<unknown>;
}

/**
 * The bindings of `wrangler.toml`. The platform's stub types are not used: they expand every result type at
 * every call, give up on deep types, and would make all classes import each other.
 */
export interface Env {
  ALLOCATION: Namespace<AllocationStub>;
  CLOUD_WORKER: Namespace<CloudWorkerStub>;
  POOL: Namespace<PoolStub>;
  REGISTRY: Namespace<RegistryStub>;
  WEBHOOK: Namespace<WebhookStub>;
  JOB: Namespace<JobStub>;
  /**
   * The bucket for logs and snapshots. Without a bucket there are no snapshots, and all logs travel in
   * reports and are stored in rows, as small logs always are.
   */
  LOGS?: R2Bucket;
  /** The files of the reference page. */
  ASSETS: Fetcher;
  /** The token of the first admin. */
  DROVER_ADMIN_TOKEN: string;
  /** The key that signs enrollment codes. */
  DROVER_SIGNING_KEY: string;
  /**
   * The keys that wrap the keys of secrets are `DROVER_KEK_1`, `DROVER_KEK_2` and so on
   * (secrets.md#rotation). Their number is open, so `objects/secrets/vault.ts` looks for them by name.
   */
  DROVER_KEK_1?: string;
  /** The URL at which hosts reach this Worker. */
  DROVER_URL?: string;
  /** The name of the bucket, and the custom domains by commas: for the next deployment (deploy.md#bucket). */
  DROVER_BUCKET?: string;
  DROVER_DOMAINS?: string;
  /** Milliseconds by which Drover's time is ahead of the platform's clock; set by `drover up` only. */
  DROVER_CLOCK_AHEAD_MS?: string;
  /** `1`: webhooks may go to local addresses (webhooks.md#addresses); set by `drover up` only. */
  DROVER_ALLOW_LOCAL_WEBHOOKS?: string;
  /** The network for webhooks on a laptop: without private addresses, unless they are allowed. */
  WEBHOOK_NETWORK?: Fetcher;
  /** `1`: issuers of tokens may have local addresses (oidc.md#keys); set by `drover up` only. */
  DROVER_ALLOW_LOCAL_ISSUERS?: string;
  /** The same for issuers. */
  ISSUER_NETWORK?: Fetcher;
  /** One step in this many is checked against the invariants of its machine. Absent: 64. Tests set 1. */
  DROVER_CHECK_EVERY?: string;
}

/** The URL at which hosts reach this Worker, without a trailing slash; empty if not configured. */
export function urlOf({ DROVER_URL = "" }: Pick<Env, "DROVER_URL">): string {
  return DROVER_URL.replace(/\/$/, "");
}

/** What `drover deploy` has told the Worker, for the next deployment (deploy.md#bucket). */
export function deployedAs({ DROVER_BUCKET, DROVER_DOMAINS = "" }: Env): {
  bucketName: string | null;
  domains: string[];
} {
  return {
    bucketName: DROVER_BUCKET ?? null,
    domains: DROVER_DOMAINS.split(",").filter((one) => one !== ""),
  };
}

/** How issuers are asked: by the global `fetch` or, on a laptop, by a network without private addresses. */
export function issuerNetworkOf(env: Pick<Env, "DROVER_ALLOW_LOCAL_ISSUERS" | "ISSUER_NETWORK">) {
  return {
    allowsLocal: env.DROVER_ALLOW_LOCAL_ISSUERS === "1",
    ask: (url: string, init: RequestInit) => (env.ISSUER_NETWORK ?? globalThis).fetch(url, init),
  };
}

/** Whether webhooks may go to loopback and private addresses (webhooks.md#addresses). */
export function allowsLocalWebhooks(env: Pick<Env, "DROVER_ALLOW_LOCAL_WEBHOOKS">): boolean {
  return env.DROVER_ALLOW_LOCAL_WEBHOOKS === "1";
}
