// How is a machine told from all others on a cloud that knows no tokens, but whose names are unique?

import type { CreateAnswer, DestroyAnswer, FindAnswer, ProviderFailure } from "../core/provider-answers.ts";
import type { CreateInstance, Instance } from "../schema/provider.ts";
import { WORKER_TAG } from "../shared/cloud/tags.ts";
import type { JsonCalled, JsonFailed } from "./json-api.ts";
import type { KnownMachine } from "./provider.ts";

/** A machine whose name is taken may be missing from listings for some seconds. */
const NAME_TAKEN_PAUSE_MS = 2_000;

/** What a look for one machine has shown, whosever it is. Undefined: the cloud has no such machine. */
export type Looked = { instance: Instance | undefined } | { failure: ProviderFailure };

/**
 * What a create means whose name was taken: the worker's own machine, one that nothing shows yet, or somebody
 * else's. The worker's own has all tags of the request. `place`: what names are unique in.
 */
export function takenName(looked: Looked, { name, tags }: CreateInstance, place: string): CreateAnswer {
  if ("failure" in looked) {
    return { kind: "failed", failure: withoutRefusal(looked.failure) };
  }
  const { instance } = looked;
  if (instance === undefined) {
    const text = `the name ${name} is taken, and nothing shows its machine yet`;
    return { kind: "pending", retryAfterMs: NAME_TAKEN_PAUSE_MS, text };
  }
  if (hasTags(instance, tags) && instance.name === name) return { kind: "created", instance };
  const text = `${place} has a machine ${name} that is not of this Drover (id ${instance.id})`;
  return { kind: "failed", failure: { class: "invalid", text, refused: true, scope: "all" } };
}

/** Whether a machine has all these tags: then the request with them has made it. */
export function hasTags(instance: Instance, tags: CreateInstance["tags"]): boolean {
  return Object.entries(tags).every(([label, value]) => instance.tags[label] === value);
}

/** That a look was refused says nothing about the create before it, which may have made the machine. */
export function withoutRefusal({ refused: _, ...failure }: ProviderFailure): ProviderFailure {
  return failure;
}

/** What a look means for a worker. By its name alone, somebody else's machine may have been found. */
export function foundBy(looked: Looked, { worker, id }: KnownMachine): FindAnswer {
  if ("failure" in looked) return { kind: "unsure", text: looked.failure.text };
  const { instance } = looked;
  if (instance === undefined) return { kind: "none" };
  return id !== null || instance.tags[WORKER_TAG] === worker ? { kind: "found", instance } : { kind: "none" };
}

/** How a cloud ends its machines. */
interface Ending {
  find(machine: KnownMachine): Promise<FindAnswer>;
  destroy(id: string): Promise<JsonCalled>;
  /** Whether a failed call says that there is no such machine. */
  isUnknown(failed: JsonFailed): boolean;
}

/** Begins the end of one machine. One whose id no answer has named is looked up by its name. */
export async function destroyBy(
  { find, destroy, isUnknown }: Ending,
  machine: KnownMachine,
): Promise<DestroyAnswer> {
  let { id } = machine;
  if (id === null) {
    const found = await find(machine);
    if (found.kind === "none") return { kind: "asked", unknown: true };
    if (found.kind === "unsure") {
      return { kind: "failed", failure: { class: "temporary", text: found.text, refused: true } };
    }
    id = found.instance.id;
  }
  const called = await destroy(id);
  if (!("failure" in called)) return { kind: "asked" };
  return isUnknown(called) ? { kind: "asked", unknown: true } : { kind: "failed", failure: called.failure };
}

/** A machine whose name is that of a worker, for listings that hide its tags. */
export function asWorker(instance: Instance, worker: string): Instance {
  return { ...instance, tags: { ...instance.tags, [WORKER_TAG]: worker } };
}
