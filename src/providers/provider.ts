// What does Drover need from a cloud? Create, list and destroy (host-protocol.md#provider-contract).
import type { CreateAnswer, DestroyAnswer, ListAnswer } from "../core/messages.ts";
import type { CreateInstance } from "../schema/provider.ts";

/**
 * A cloud. Every call resolves with a result or a classified failure; it never throws because of what a cloud
 * does. Whether a failed call took effect can only be observed (host-protocol.md#provider-contract).
 */
export interface Provider {
  create(wanted: CreateInstance): Promise<CreateAnswer>;
  /** All instances with the tag `key:value`, including terminated ones that the cloud still knows. */
  list(tag: string): Promise<ListAnswer>;
  destroy(instance: string): Promise<DestroyAnswer>;
  readonly capabilities: {
    /** A listing that begins within this time after a create or destroy call may lack the call's effect. */
    readonly listConsistencyMs: number;
  };
}
