import type { CreateAnswer, DestroyAnswer, ListAnswer } from "../core/messages.ts";
import type { CreateInstance } from "../schema/provider.ts";

/**
 * A cloud. Every call answers with a result or a classified failure, and never throws for what a cloud can
 * do: whether a call that failed has had its effect can only be observed
 * (host-protocol.md#provider-contract).
 */
export interface Provider {
  create(wanted: CreateInstance): Promise<CreateAnswer>;
  /** Everything that carries the tag `key:value`, terminated instances too if the cloud still knows them. */
  list(tag: string): Promise<ListAnswer>;
  destroy(instance: string): Promise<DestroyAnswer>;
  readonly capabilities: {
    /** A listing begun this soon after a create or destroy call ended may not show its effect yet. */
    readonly listConsistencyMs: number;
  };
}
