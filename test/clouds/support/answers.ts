// Answers of a provider that must be of one kind.
import type { KnownMachine, Provider } from "../../../src/providers/provider.ts";
import type { CreateInstance, Instance } from "../../../src/schema/provider.ts";

/** Makes a machine, which must succeed. */
export async function made(provider: Provider, wanted: CreateInstance): Promise<Instance> {
  const answer = await provider.create(wanted);
  if (answer.kind !== "created") throw new Error(JSON.stringify(answer));
  return answer.instance;
}

/** Fails to make a machine, which must be so. */
export async function refused(provider: Provider, wanted: CreateInstance) {
  const answer = await provider.create(wanted);
  if (answer.kind !== "failed") throw new Error(JSON.stringify(answer));
  return answer.failure;
}

/** Lists, which must succeed. */
export async function listed(provider: Provider, known: readonly KnownMachine[] = [], tag = "drover-pool:p") {
  const answer = await provider.list(tag, known);
  if (answer.kind !== "listed") throw new Error(JSON.stringify(answer));
  return answer;
}

export function knownOf({ id, name, zone }: Instance): KnownMachine {
  return { id, worker: name, zone: zone ?? null };
}

/** A machine of which nobody knows the id. */
export function unnamed(worker: string): KnownMachine {
  return { worker, id: null, zone: null };
}
