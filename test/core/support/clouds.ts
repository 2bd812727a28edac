import type { WorkerFailure, WorkerUpsert } from "../../../src/core/messages.ts";
import type { PoolEvent } from "../../../src/core/pool/machine.ts";
import type { Listing } from "../../../src/core/pool/provider/sweep.ts";
import type { WorkerRow } from "../../../src/core/pool/record.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
import type { ListAnswer, ProviderFailure } from "../../../src/core/provider-answers.ts";
import type { PoolConfig, PoolConfigInput } from "../../../src/schema/pool.ts";
import type { Instance } from "../../../src/schema/provider.ts";
import { POOL_TAG, WORKER_TAG } from "../../../src/shared/cloud/tags.ts";
import { configured, existing, pool, recordOf, T0, workerSays } from "./pool.ts";
import { PROVIDER, poolConfig } from "./pool-config.ts";

const credentials = { binding: "CLOUD_CI" };

/** A provider of each kind that makes machines. */
export const PROVIDERS = {
  http: PROVIDER,
  ec2: { kind: "ec2", credentials, region: "eu-west-1" },
  hetzner: { kind: "hetzner", credentials },
  fly: { kind: "fly", credentials, app: "ci" },
} as const satisfies Record<string, PoolConfigInput["provider"]>;

/** The configuration of a pool at this kind of cloud. */
export function cloudConfig(
  kind: keyof typeof PROVIDERS,
  more: Partial<PoolConfigInput> = {},
): Partial<PoolConfigInput> {
  return { provider: PROVIDERS[kind], image: "debian-13", ...more };
}

/** The machines that are asked for and not made, as `type@zone`, in the order of their workers. */
export function askedOf(state: Configured): string[] {
  const unmade = [...state.workers.live()].filter(({ phase, instance }) => {
    return instance === null && (phase === "asked" || phase === "booting");
  });
  return unmade.map(({ instanceType, zone }) => `${instanceType}${zone === null ? "" : `@${zone}`}`);
}

/** The scopes of the hold-offs, with their causes. */
export function holdsOf({ record }: Configured): string[] {
  return record.holds.map(({ cause, scope }) => `${cause} of ${scope}`).sort();
}

type Said = Extract<PoolEvent, { type: "worker" }>;

/** A worker of this pool by its number. */
export const workerOf = (number: number) => `default-s-${number}`;

/** What a worker says whose create call was refused: there is no machine. */
export function refused(
  worker: string,
  failure: Partial<ProviderFailure>,
  now: number,
  zone: string | null = null,
): Said {
  const said: WorkerFailure = { class: "capacity", text: "none left", refused: true, at: now, ...failure };
  const unready = { readyAt: null, bootOutcome: null, instance: null, unmade: true, zone };
  return workerSays(worker, { ...unready, phase: "gone", reason: said.text, failure: said });
}

/** What a worker says whose machine was made and boots. */
export function boots(worker: string, more: Partial<WorkerUpsert> = {}): Said {
  return workerSays(worker, { phase: "booting", readyAt: null, bootOutcome: null, ...more });
}

/** What a worker says whose machine its provider took away, for this reason. */
export function withdrawn(worker: string, fault: Partial<WorkerFailure>, now: number, version = 3): Said {
  const failure: WorkerFailure = { class: "capacity", text: "taken away", at: now, ...fault };
  return workerSays(worker, { version, phase: "gone", bootOutcome: "withdrawn", readyAt: null, failure });
}

/** A machine as a listing shows it. */
export function shown(worker: string, more: Partial<Instance> = {}): Instance {
  return {
    id: `i-${worker}`,
    name: worker,
    address: null,
    state: "running",
    instanceType: "small",
    createdAt: new Date(T0).toISOString(),
    tags: { [WORKER_TAG]: worker, [POOL_TAG]: "default" },
    ...more,
  };
}

type Listed = Extract<ListAnswer, { kind: "listed" }>;

/** A listing of these machines. */
export function listing(
  items: Instance[],
  { credentials: digest, ...more }: Partial<Listed> & Pick<Listing, "credentials"> = {},
): PoolEvent {
  const answer: ListAnswer = { kind: "listed", beganAt: T0, items, ...more };
  return {
    type: "listed",
    consistencyMs: 0,
    answer,
    ...(digest === undefined ? {} : { credentials: digest }),
  };
}

/** A listing that failed. */
export function listingFails(failure: Partial<ProviderFailure>, digest?: string): PoolEvent {
  const answer: ListAnswer = { kind: "failed", failure: { class: "temporary", text: "down", ...failure } };
  return {
    type: "listed",
    consistencyMs: 0,
    answer,
    ...(digest === undefined ? {} : { credentials: digest }),
  };
}

/** The same pool with another configuration. */
export function configureAs(more: Partial<PoolConfigInput>, revision = 2): PoolEvent {
  const body = { pool: "default", revision, config: poolConfig(more), seed: "s" };
  return { type: "configure", body };
}

/** A pool without a provider. Its tests' configuration has no types. */
export function withoutProvider(more: Partial<PoolConfigInput> = {}, workers: WorkerRow[] = []): Configured {
  const config: PoolConfig = poolConfig({ provider: { kind: "none" }, instanceTypes: {}, ...more });
  return existing(pool(recordOf(config), [], workers));
}

/** A pool at this kind of cloud. */
export function poolAt(
  kind: keyof typeof PROVIDERS,
  more: Partial<PoolConfigInput> = {},
  ...rows: Parameters<typeof configured> extends [unknown?, ...infer Rows] ? Rows : never
): Configured {
  return configured(cloudConfig(kind, more), ...rows);
}
