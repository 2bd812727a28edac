// How does a user get a code with which a self-hosted machine can enroll?
import type { PoolEvent, PoolMessage } from "../../core/pool/machine.ts";
import type { PoolRecord } from "../../core/pool/record.ts";
import { nextWorkerName } from "../../core/pool/rows/new-workers.ts";
import type { PoolState } from "../../core/pool/state.ts";
import { DroverError } from "../../shared/errors.ts";
import { MAX_OPEN_ENROLLMENTS } from "../../shared/limits.ts";
import type { Millis } from "../../shared/machine.ts";
import { enrollmentCode } from "../../signing/code.ts";
import type { Actor } from "../actor.ts";
import type { Invitation, InvitationRequest } from "../rpc.ts";
import { acknowledged } from "../waiting.ts";

/** When a client should try again if there are too many unused codes. */
const BUSY_RETRY_MS: Millis = 60_000;

/**
 * Stores a worker for a self-hosted machine, waits until the worker has received its intent, and then makes
 * the enrollment code. The same key gets the same worker and code. Throws `busy` for too many codes,
 * `idempotency_mismatch`, and `not_acknowledged`.
 */
export async function invite(
  actor: Actor<PoolState, PoolEvent, PoolMessage>,
  record: PoolRecord,
  { ttlMs, keyHash, by, via }: InvitationRequest,
  signingKey: string,
): Promise<Invitation> {
  if (record.leaving === true) {
    throw new DroverError("pool_draining", "the pool is being deleted, and takes no more machines");
  }
  const worker = nextWorkerName(keyHash === undefined ? record : { ...record, nextWorker: `k${keyHash}` });
  const row = () => actor.state.workers.get(worker);
  const replayed = row() !== undefined;
  actor.apply({ type: "invite", worker, ttlMs, by, via });
  const invited = row();
  if (invited === undefined) {
    const text = `this pool has ${MAX_OPEN_ENROLLMENTS} unused codes; use them, or let them expire`;
    throw new DroverError("busy", text, { retryAfterMs: BUSY_RETRY_MS });
  }
  if (invited.notAfter - invited.askedAt !== ttlMs) {
    const text = "this Idempotency-Key was used before with another ttl; use a new key for a new code";
    throw new DroverError("idempotency_mismatch", text);
  }
  const text = "the enrollment is stored, but its worker has not confirmed it in time; try again";
  await acknowledged(actor, () => row()?.phase !== "asked", text);
  const code = enrollmentCode(worker, invited.notAfter, signingKey);
  return { worker, code, expiresAt: invited.notAfter, replayed };
}
