// The requests to a provider of `kind: "http"`, and its answers (host-protocol.md#provider-contract).
import { z } from "zod";

export const LIFECYCLE_STATES = ["pending", "running", "stopping", "stopped", "error", "terminated"] as const;
export type LifecycleState = (typeof LIFECYCLE_STATES)[number];

/**
 * Text from a provider that is stored for each machine. Long text is cut. A row of megabytes could not be
 * stored, and if the listing were refused instead, a machine that costs money would be hidden.
 */
const StoredText = z.string().overwrite((text) => text.slice(0, 256));

/** What a failure concerns, from all machines down to a type in its zone (pool.md#hold-offs). */
export const FAILURE_SCOPES = ["all", "group", "zone", "type", "offer"] as const;

/** How calls to a provider fail (host-protocol.md#provider-errors). */
export const FAILURE_CLASSES = ["rate_limit", "quota", "capacity", "auth", "invalid", "temporary"] as const;

/** Why a machine ended, if its provider could not or would not run it any longer. */
const Fault = z.object({
  class: z.enum(FAILURE_CLASSES),
  scope: z.enum(FAILURE_SCOPES).optional(),
  text: StoredText,
});
export type Fault = z.infer<typeof Fault>;

/** An instant that may be invalid, since a foreign text must not hide a machine. */
const ForeignInstant = z.iso.datetime({ offset: true }).optional().catch(undefined);

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
  /** The zone, region or location. Absent: the provider has none, or does not say. */
  zone: StoredText.optional().catch(undefined),
  /** Whether the provider may take the machine away. Absent: as the type says. */
  spot: z.boolean().optional().catch(undefined),
  /** When the provider will end the machine by itself. */
  endsAt: ForeignInstant,
  /** When the machine ended, for one that is `terminated`. */
  endedAt: ForeignInstant,
  /** Why the machine ended, or is about to end, if that is the provider's doing. */
  fault: Fault.optional().catch(undefined),
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
  /** Where the machine is wanted. Absent: the provider chooses. */
  zone: z.string().optional(),
  /** Whether the provider may take the machine away, at a lower price. Absent: no. */
  spot: z.literal(true).optional(),
});
export type CreateInstance = z.infer<typeof CreateInstance>;

/** The body of every error answer of a provider (host-protocol.md#provider-errors). */
export const ProviderProblem = z.object({
  class: z.enum(FAILURE_CLASSES),
  text: z.string(),
  /**
   * What the problem concerns: all machines, a quota group, a zone, the instance type, or the type in its
   * zone (`offer`). Absent: the class decides (decisions/pool.md#d18).
   */
  scope: z.enum(FAILURE_SCOPES).optional(),
  /** The shortest pause before the next try. */
  retryAfterMs: z.number().min(0).optional(),
});
export type ProviderProblem = z.infer<typeof ProviderProblem>;

/** The end of a machine's console, as a service shows it. `truncated`: there was more before it. */
export const ConsoleText = z.object({ text: z.string(), truncated: z.boolean().default(false) });
