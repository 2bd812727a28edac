// What Drover needs of a cloud: create, list, destroy (host-protocol.md#provider-contract).
import type { CreateAnswer, DestroyAnswer, ListAnswer } from "../core/messages.ts";
import type { CreateInstance } from "../schema/provider.ts";

/**
 * A cloud. Every call resolves with a result or a classified failure; it never throws for what a cloud can
 * do. Whether a failed call took effect can only be observed (host-protocol.md#provider-contract).
 */
export interface Provider {
  create(wanted: CreateInstance): Promise<CreateAnswer>;
  /** Everything that carries the tag `key:value`, terminated instances too if the cloud still knows them. */
  list(tag: string): Promise<ListAnswer>;
  destroy(instance: string): Promise<DestroyAnswer>;
  readonly capabilities: {
    /** A listing that begins within this time after a create or destroy call may lack the call's effect. */
    readonly listConsistencyMs: number;
  };
}
