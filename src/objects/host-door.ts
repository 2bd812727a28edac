import { DroverError } from "../core/errors.ts";
import { isClone, isLateEnrollment, isRefusedClone } from "../core/worker/joining.ts";
import type { Living } from "../core/worker/state.ts";
import type { EnrollRequest, HostSetup } from "../schema/host.ts";
import { droverNow } from "./clock.ts";
import type { Env } from "./env.ts";
import { livingWorker, type WorkerActor, wrongWorker } from "./exchange.ts";
import { claimedWorker, hostSetup, parseJoin } from "./host-calls.ts";
import type { SignedCall } from "./rpc.ts";
import { verifyCall, verifyCode } from "./signing.ts";

/**
 * Where hosts come in: who they are is found out here (`host-protocol.md`, Joining). Whoever is refused is
 * noted with the worker.
 */
export interface Door {
  actor: WorkerActor;
  /** Of the worker. */
  name: string;
  env: Env;
}

/** A machine that has the worker's code becomes its host. */
export async function enrollHost(door: Door, request: EnrollRequest): Promise<HostSetup> {
  const { actor, name, env } = door;
  return refusing(door, async () => {
    await verifyCode(request.code, name, env.DROVER_SIGNING_KEY, droverNow());
    const { record } = actor.state;
    if (record === null || record.phase === "shutdown" || record.phase === "gone") throw workerOver(name);
    if (isLateEnrollment({ ...actor.state, record }, request)) throw begunAlready(name);
    const cloned = record.secret === request.secret && isClone(record, request.bootId);
    const { secret, bootId, resources } = request;
    actor.apply({ type: "enroll", secret, bootId, resources });
    if (cloned) throw clonedHost();
    const living = livingWorker(actor, name);
    if (living.record.secret === secret) return hostSetup(living, env);
    throw new DroverError("code_used", "this enrollment code has been used, with another secret");
  });
}

/** Another start of the host's agent. */
export async function joinHost(door: Door, call: SignedCall): Promise<HostSetup> {
  const { actor, name, env } = door;
  await verifyHost(door, call);
  const { bootId, worker } = parseJoin(call.body);
  return refusing(door, async () => {
    if (worker !== undefined && worker !== name) throw wrongWorker(worker, name);
    const { record } = livingWorker(actor, name);
    if (record.phase === "gone") throw workerOver(name);
    const cloned = isRefusedClone(record, call.id, bootId);
    actor.apply({ type: "join", id: call.id, bootId });
    if (cloned) throw clonedHost();
    return hostSetup(livingWorker(actor, name), env);
  });
}

/**
 * Throws `bad_signature` if a call is not of this worker's host, and `wrong_worker` if it says so itself. No
 * object knows another one's secret, so that is all that can tell a host that has come to the wrong place, or
 * a call that was carried there, from any other bad signature.
 */
export async function verifyHost(door: Door, call: SignedCall): Promise<void> {
  const { actor, name } = door;
  const { secret } = livingWorker(actor, name).record;
  await refusing(door, async () => {
    try {
      if (secret === null) throw new DroverError("bad_signature", "no host has enrolled for this worker");
      await verifyCall(call, secret, droverNow());
    } catch (error) {
      const claimed = claimedWorker(call.body);
      throw claimed === undefined || claimed === name ? error : wrongWorker(claimed, name);
    }
  });
}

/** Whoever is refused is noted with the worker: a clone, or a thief, shall be seen. */
export async function refusing<T>({ actor }: Pick<Door, "actor">, check: () => Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof DroverError && actor.state.record !== null) {
      actor.apply({ type: "refused_host", kind: error.code, reason: error.message });
    }
    throw error;
  }
}

/** The secret of a worker's host, for calls that the edge verifies. One that is gone may call no more. */
export function secretOf({ record }: Living, name: string): string | null {
  const { phase, secret } = record;
  if (phase === "gone") throw workerOver(name);
  return secret;
}

function workerOver(name: string): DroverError {
  const text = `worker "${name}" is over; this machine is not wanted any more`;
  return new DroverError("enrollment_over", text);
}

function begunAlready(name: string): DroverError {
  const text = `the host of worker "${name}" has begun in another boot since; it joins, and enrolls no more`;
  return new DroverError("enrollment_over", text);
}

function clonedHost(): DroverError {
  const text =
    "another machine starts as this host by turns: its disk, or its Drover state, was copied. Neither is " +
    "listened to any more; enroll each with a code of its own";
  return new DroverError("cloned", text);
}
