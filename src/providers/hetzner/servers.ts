// What does Hetzner say about a server: its state, where it is, and whose it is?
import { z } from "zod";
import type { Instance, LifecycleState } from "../../schema/provider.ts";

/** For how long a new server may be off before it starts for the first time. */
const MAY_BE_OFF_MS = 3 * 60_000;

/** The states of a server, by Hetzner's name (clouds/hetzner.md#states). */
const STATES: Readonly<Record<string, LifecycleState>> = {
  initializing: "pending",
  starting: "pending",
  running: "running",
  migrating: "running",
  rebuilding: "running",
  stopping: "stopping",
  deleting: "stopping",
  off: "stopped",
  unknown: "error",
};

const Named = z.object({ name: z.string().max(256) });

/** A server, as far as Drover reads it. */
export const Server = z.object({
  id: z.int().min(1),
  name: z.string().max(256),
  status: z.string(),
  created: z.iso.datetime({ offset: true }),
  server_type: Named,
  /** Absent in answers from before July 2026, which name the location with the datacenter. */
  location: Named.nullish().catch(undefined),
  public_net: z
    .object({
      ipv4: z.object({ ip: z.string() }).nullish(),
      ipv6: z.object({ ip: z.string() }).nullish(),
    })
    .nullish()
    .catch(undefined),
  labels: z.record(z.string(), z.string()),
});
export type Server = z.infer<typeof Server>;

/** The server as Drover knows machines. A state that nobody knows is an error, and is not hidden. */
export function instanceOf(server: Server, now: number): Instance {
  const { id, name, status, created, server_type: type, location, public_net: net, labels } = server;
  const known = Object.hasOwn(STATES, status) ? STATES[status] : undefined;
  const isNew = status === "off" && now < Date.parse(created) + MAY_BE_OFF_MS;
  return {
    id: String(id),
    name,
    address: net?.ipv4?.ip ?? net?.ipv6?.ip ?? null,
    state: isNew ? "pending" : (known ?? "error"),
    instanceType: type.name,
    tags: labels,
    createdAt: created,
    spot: false,
    ...(location == null ? {} : { zone: location.name }),
  };
}
