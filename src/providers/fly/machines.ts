// What does Fly say about a machine: its state, where it is, and whose it is?
import { z } from "zod";
import type { Instance, LifecycleState } from "../../schema/provider.ts";

/** The states of a machine, by Fly's name (clouds/fly.md#states). */
const STATES: Readonly<Record<string, LifecycleState>> = {
  created: "pending",
  creating: "pending",
  starting: "pending",
  restarting: "pending",
  updating: "pending",
  replacing: "pending",
  started: "running",
  stopping: "stopping",
  suspending: "stopping",
  destroying: "stopping",
  stopped: "stopped",
  suspended: "stopped",
  failed: "error",
  launch_failed: "error",
  destroyed: "terminated",
  migrated: "terminated",
  replaced: "terminated",
};

const Config = z
  .object({
    metadata: z.record(z.string(), z.string()).nullish().catch(undefined),
    guest: z.object({ cpu_kind: z.string(), cpus: z.int() }).nullish().catch(undefined),
  })
  .nullish()
  .catch(undefined);

/** A machine, as far as Drover reads it. */
export const Machine = z.object({
  id: z.string().min(1).max(64),
  name: z.string().max(256),
  state: z.string(),
  region: z.string().max(64),
  private_ip: z.string().max(64).nullish().catch(undefined),
  created_at: z.string(),
  updated_at: z.string().nullish().catch(undefined),
  host_status: z.string().nullish().catch(undefined),
  /** Null while its host cannot be reached. */
  config: Config,
  incomplete_config: Config,
});
export type Machine = z.infer<typeof Machine>;

/** Whether the host of the machine can be reached, so that what Fly says of the machine is up to date. */
export function isReached({ host_status: status }: Machine): boolean {
  return status == null || status === "ok";
}

/**
 * The machine as Drover knows machines. Its labels, and its size, may be unknown while its host cannot be
 * reached. A state that nobody knows is an error, and is not hidden.
 */
export function instanceOf(machine: Machine): Instance {
  const { id, name, state, region, private_ip: address, created_at: createdAt } = machine;
  const config = machine.config ?? machine.incomplete_config;
  const known = Object.hasOwn(STATES, state) ? STATES[state] : undefined;
  const guest = config?.guest;
  return {
    id,
    name,
    address: address ?? null,
    state: known ?? "error",
    instanceType: guest == null ? "" : sizeName(guest.cpu_kind, guest.cpus),
    tags: config?.metadata ?? {},
    createdAt,
    spot: false,
    zone: region,
    ...(known === "terminated" && machine.updated_at != null ? endOf(machine.updated_at) : {}),
  };
}

function endOf(updatedAt: string): Pick<Instance, "endedAt"> {
  return Number.isNaN(Date.parse(updatedAt)) ? {} : { endedAt: updatedAt };
}

/** Fly's name of a size: `shared-cpu-1x`, `performance-2x`. */
function sizeName(kind: string, cpus: number): string {
  return kind === "performance" ? `performance-${cpus}x` : `${kind}-cpu-${cpus}x`;
}

/** What a size means. Undefined: Fly has no such size. */
export function guestOf(size: string): { cpu_kind: "shared" | "performance"; cpus: number } | undefined {
  const [, kind, cpus] = /^(shared-cpu|performance|performance-cpu)-(\d{1,2})x$/.exec(size) ?? [];
  if (kind === undefined) return undefined;
  return { cpu_kind: kind === "shared-cpu" ? "shared" : "performance", cpus: Number(cpus) };
}
