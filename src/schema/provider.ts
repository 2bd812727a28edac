// The requests to a provider of `kind: "http"`, and its answers (host-protocol.md#provider-contract).
import { z } from "zod";

export const LIFECYCLE_STATES = ["pending", "running", "stopping", "stopped", "error", "terminated"] as const;
export type LifecycleState = (typeof LIFECYCLE_STATES)[number];

/**
 * Text from a provider that is stored for each machine. Long text is cut. A row of megabytes could not be
 * stored, and if the listing were refused instead, a machine that costs money would be hidden.
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
  /** The current price per hour, if it differs from the price list. Invalid values are ignored. */
  price: z.number().min(0).optional().catch(undefined),
});
export type Instance = z.infer<typeof Instance>;

/**
 * An answer to `GET /instances?tag=k:v`. `next` is the `&cursor=` of the next page. The last page has none.
 */
export const InstancePage = z.object({
  items: z.array(Instance),
  /** On the last page: whether the pages list all machines. If not, a machine that is absent may exist. */
  complete: z.boolean().default(false),
  next: z.string().min(1).max(4_096).nullish(),
});
export type InstancePage = z.infer<typeof InstancePage>;

/** A page with unchecked items. An invalid item must not hide the valid items. */
export const UnreadPage = InstancePage.extend({ items: z.array(z.unknown()) });

/** `POST /instances`. The same token gives the same instance. */
export const CreateInstance = z.strictObject({
  token: z.string().min(1).max(128),
  name: z.string(),
  instanceType: z.string(),
  image: z.string(),
  userData: z.string(),
  tags: z.record(z.string(), z.string()),
  /** The declared resources of the type: the loopback cloud needs them, other services may ignore them. */
  resources: z.object({ vcpus: z.int(), memoryBytes: z.int(), diskBytes: z.int(), gpus: z.int() }),
});
export type CreateInstance = z.infer<typeof CreateInstance>;

/** The body of every error answer of a provider (host-protocol.md#provider-errors). */
export const ProviderProblem = z.object({
  class: z.enum(["rate_limit", "quota", "capacity", "invalid", "temporary"]),
  text: z.string(),
  /**
   * Whether the problem concerns all machines, a quota group, or the instance type. Absent: the class decides
   * (decisions/pool.md#d18).
   */
  scope: z.enum(["all", "group", "type"]).optional(),
  /** The shortest pause before the next try. */
  retryAfterMs: z.number().min(0).optional(),
});
export type ProviderProblem = z.infer<typeof ProviderProblem>;
