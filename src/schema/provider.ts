import { z } from "zod";

/** An instance as a provider of `kind: "http"` lists it (`host-protocol.md`, the provider contract). */
export const Instance = z.object({
  id: z.string().min(1).max(256),
  name: z.string(),
  address: z.string().nullable(),
  state: z.enum(["pending", "running", "stopping", "terminated"]),
  instanceType: z.string(),
  tags: z.record(z.string(), z.string()),
  createdAt: z.string(),
});
export type Instance = z.infer<typeof Instance>;

export const InstanceList = z.object({ items: z.array(Instance), complete: z.literal(true) });

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
  /** Not before this should it be asked again. */
  retryAfterMs: z.number().min(0).optional(),
});
