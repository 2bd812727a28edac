import { z } from "zod";

export const LIFECYCLE_STATES = ["pending", "running", "stopping", "stopped", "error", "terminated"] as const;
export type LifecycleState = (typeof LIFECYCLE_STATES)[number];

/**
 * What a service says, and what is stored of each machine. It is cut, since a row of megabytes could not be
 * written, and a refusal would hide a machine that is paid for.
 */
const StoredText = z.string().overwrite((text) => text.slice(0, 256));

/** An instance as a provider of `kind: "http"` lists it (host-protocol.md#provider-contract). */
export const Instance = z.object({
  id: z.string().min(1).max(256),
  name: z.string(),
  address: StoredText.nullable(),
  state: z.enum(LIFECYCLE_STATES),
  instanceType: StoredText,
  tags: z.record(z.string(), z.string()),
  createdAt: z.string(),
  /** What an hour of it costs now, if that is another price than the list's. Nonsense is no price. */
  price: z.number().min(0).optional().catch(undefined),
});
export type Instance = z.infer<typeof Instance>;

/** An answer to `GET /instances?tag=k:v`, of which the last has no `next`: that goes into `&cursor=`. */
export const InstancePage = z.object({
  items: z.array(Instance),
  /** On the last page: nothing that exists is left out of them all. Otherwise absence proves nothing. */
  complete: z.boolean().default(false),
  next: z.string().min(1).max(4_096).nullish(),
});
export type InstancePage = z.infer<typeof InstancePage>;

/** The same with items that nobody has looked at: one that is odd must not hide the others. */
export const UnreadPage = InstancePage.extend({ items: z.array(z.unknown()) });

/** `POST /instances`. The same token gives the same instance. */
export const CreateInstance = z.strictObject({
  token: z.string().min(1).max(128),
  name: z.string(),
  instanceType: z.string(),
  image: z.string(),
  userData: z.string(),
  tags: z.record(z.string(), z.string()),
  /** What the type is declared to have: the loopback cloud needs it, other services may ignore it. */
  resources: z.object({ vcpus: z.int(), memoryBytes: z.int(), diskBytes: z.int(), gpus: z.int() }),
});
export type CreateInstance = z.infer<typeof CreateInstance>;

/** What every error answer of such a service says. */
export const ProviderProblem = z.object({
  class: z.enum(["rate_limit", "quota", "capacity", "invalid", "temporary"]),
  text: z.string(),
  /** What it holds for: all machines, those of a quota group, or those of the instance type. */
  scope: z.enum(["all", "group", "type"]).optional(),
  /** Not before this should it be asked again. */
  retryAfterMs: z.number().min(0).optional(),
});
