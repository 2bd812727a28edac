// What does Drover need from a cloud? Create, list, find and destroy (host-protocol.md#provider-contract).
import type {
  ConsoleAnswer,
  CreateAnswer,
  DestroyAnswer,
  FindAnswer,
  ListAnswer,
  PricesAnswer,
  ProviderFailure,
} from "../core/provider-answers.ts";
import type { CreateInstance } from "../schema/provider.ts";
import { type ProviderKind, TRAITS } from "../shared/cloud/kinds.ts";

/** A machine that Drover has asked for, as far as Drover knows it. */
export interface KnownMachine {
  /** The worker's name, which is the token and the name of its machine. */
  worker: string;
  /** The provider's id. Null: no answer has named it. */
  id: string | null;
  /** The zone for which it was asked, or in which it was seen. Null: the provider chose. */
  zone: string | null;
}

/**
 * How much of a console is asked for: twice of what readers get, so that no secret is cut where the text of
 * readers begins.
 */
export const CONSOLE_READ_BYTES = 32_768;

/**
 * A cloud. Every call resolves with a result or a classified failure; it never throws because of what a cloud
 * does. Whether a failed call took effect can only be observed (host-protocol.md#provider-contract). One call
 * of these makes at most one call to the cloud that can create a machine, and repeats nothing by itself.
 */
export interface Provider {
  /** The same token, which is the worker's name, gives the same machine. */
  create(wanted: CreateInstance): Promise<CreateAnswer>;
  /**
   * All instances with the tag `key:value`, including terminated ones that the cloud still knows. `known`:
   * the machines that should be there, for clouds that must be asked for each during an outage.
   */
  list(tag: string, known: readonly KnownMachine[]): Promise<ListAnswer>;
  /** Looks for one machine, by a stronger means than a listing (`TRAITS.finds`). */
  find(machine: KnownMachine): Promise<FindAnswer>;
  destroy(machine: KnownMachine): Promise<DestroyAnswer>;
  /** What these types, by the provider's names, cost now. Absent: the provider does not say. */
  prices?(types: readonly { type: string; spot: boolean }[]): Promise<PricesAnswer>;
  /**
   * The end of a machine's console, at least `CONSOLE_READ_BYTES` if there is so much. Absent: the cloud has
   * none that a program can read (clouds.md#console).
   */
  console?(machine: KnownMachine & { id: string }): Promise<ConsoleAnswer>;
}

/**
 * Why the user data are too long for a kind of cloud. Undefined: they are not. `takes`: who takes how much,
 * such as "Hetzner takes".
 */
export function userDataFault(
  kind: ProviderKind,
  userData: string,
  takes: string,
): ProviderFailure | undefined {
  const bytes = new TextEncoder().encode(userData).length;
  const most = TRAITS[kind].maxUserDataBytes;
  if (bytes <= most) return undefined;
  const text = `the user data have ${bytes} bytes, and ${takes} ${most}`;
  return { class: "invalid", text, refused: true, scope: "all" };
}

/** A provider whose every call fails, since its credentials cannot be used. */
export function failing(failure: ProviderFailure): Provider {
  const failed = async () => ({ kind: "failed", failure }) as const;
  const unsure = async () => ({ kind: "unsure", text: failure.text }) as const;
  return { create: failed, list: failed, find: unsure, destroy: failed, prices: failed, console: failed };
}
