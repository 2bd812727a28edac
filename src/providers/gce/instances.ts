// What does Google say about a machine: its state, where it is, and when Google ends it?
import { z } from "zod";
import type { Instance, LifecycleState } from "../../schema/provider.ts";

/** The states of a machine, by Google's name (clouds/gce.md#states). */
const STATES: Readonly<Record<string, LifecycleState>> = {
  PROVISIONING: "pending",
  STAGING: "pending",
  RUNNING: "running",
  STOPPING: "stopping",
  SUSPENDING: "stopping",
  PENDING_STOP: "stopping",
  DEPROVISIONING: "stopping",
  // It is stopped, and its disk is paid for.
  TERMINATED: "stopped",
  SUSPENDED: "stopped",
  REPAIRING: "error",
};

const Interface = z.object({
  networkIP: z.string().optional().catch(undefined),
  accessConfigs: z
    .array(z.object({ natIP: z.string().optional().catch(undefined) }))
    .optional()
    .catch(undefined),
});

/** A machine, as far as Drover reads it. */
export const GceInstance = z.object({
  name: z.string().min(1).max(128),
  zone: z.string().min(1),
  machineType: z.string(),
  status: z.string(),
  creationTimestamp: z.iso.datetime({ offset: true }),
  labels: z.record(z.string(), z.string()).optional().default({}),
  networkInterfaces: z.array(Interface).optional().catch(undefined),
  scheduling: z
    .object({
      provisioningModel: z.string().optional().catch(undefined),
      maxRunDuration: z
        .object({ seconds: z.coerce.number().min(0) })
        .optional()
        .catch(undefined),
    })
    .optional()
    .catch(undefined),
});
type GceInstance = z.output<typeof GceInstance>;

/** The last part of a resource's address: its name. */
function nameIn(url: string): string {
  return url.slice(url.lastIndexOf("/") + 1);
}

/**
 * The machine as Drover knows machines. Its id is `ZONE/NAME`, since a name is unique in its zone alone. A
 * state that nobody knows is an error, and is not hidden.
 */
export function instanceOf(instance: GceInstance): Instance {
  const { name, machineType, status, creationTimestamp: createdAt, labels, scheduling } = instance;
  const zone = nameIn(instance.zone);
  const [first] = instance.networkInterfaces ?? [];
  const seconds = scheduling?.maxRunDuration?.seconds;
  return {
    id: `${zone}/${name}`,
    name,
    address: first?.accessConfigs?.[0]?.natIP ?? first?.networkIP ?? null,
    state: (Object.hasOwn(STATES, status) ? STATES[status] : undefined) ?? "error",
    instanceType: nameIn(machineType),
    tags: labels,
    createdAt,
    zone,
    spot: scheduling?.provisioningModel === "SPOT",
    ...(seconds === undefined
      ? {}
      : { endsAt: new Date(Date.parse(createdAt) + seconds * 1_000).toISOString() }),
  };
}
