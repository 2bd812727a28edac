// Is a call really from this worker's host, and may it be made now (protocol.md#a-signed-call)?
import {
  isClone,
  isLateEnrollment,
  isLateJoin,
  isRefusedClone,
  isSupersededJoin,
} from "../../core/worker/host/enrollment.ts";
import { isOrdered, isPlaced } from "../../core/worker/placements.ts";
import type { ExistingWorker } from "../../core/worker/state.ts";
import { EnrollRequest, type HostSetup, JoinRequest } from "../../schema/host.ts";
import { DroverError, isDroverError, notKnown, otherBody } from "../../shared/errors.ts";
import { SIGNATURE_TOLERANCE_MS } from "../../shared/limits.ts";
import { answerKey } from "../../signing/answer.ts";
import { type AttemptClaim, isProven } from "../../signing/attempt-token.ts";
import { hostSecret } from "../../signing/code.ts";
import { sessionKey } from "../../signing/frame.ts";
import { contentDigest, type Key, keyOf } from "../../signing/mac.ts";
import { type ClaimedRequest, isSignedWith, type Purpose } from "../../signing/request.ts";
import { droverNow } from "../clock.ts";
import type { Env } from "../env.ts";
import type { EnrollCall, SignedAnswer, SignedCall } from "../rpc.ts";
import { existingWorker, type WorkerActor } from "./exchange.ts";
import { hostSetup, parsedBody } from "./host-calls.ts";
import type { HostPace } from "./host-pace.ts";
import { Nonces } from "./nonces.ts";
import { warnOfStranger } from "./strangers.ts";

/**
 * The key for checking calls if the worker has no host. Such a check always fails, but takes the same time.
 */
const NO_KEY: Key = new Uint8Array(32);
/** Purposes for which a call works only once, so that somebody who has seen the call cannot repeat it. */
const ONLY_ONCE = new Set<Purpose>(["get-snapshot", "put-snapshot", "secrets"]);
/** Purposes that a host may still use while its worker ends. */
const WHILE_ENDING = new Set<Purpose>(["report"]);

/**
 * Authenticates hosts by one HMAC (protocol.md#a-signed-call). Before a call is authenticated, nothing is
 * stored, and no answer depends on whether the worker exists.
 */
export class HostAuth {
  readonly #actor: WorkerActor;
  readonly #name: string;
  readonly #env: Env;
  readonly #pace: HostPace;
  readonly #nonces = new Nonces();

  constructor(actor: WorkerActor, name: string, env: Env, pace: HostPace) {
    this.#actor = actor;
    this.#pace = pace;
    this.#name = name;
    this.#env = env;
  }

  /** Accepts the machine that has the worker's code as the worker's host. The edge has verified the code. */
  async enroll({ body, codeKey, expiresAt }: EnrollCall): Promise<HostSetup> {
    const { salt, bootId, resources, publicKey: hostKey } = parsedBody(EnrollRequest, body);
    const secret = hostSecret(keyOf(codeKey), salt);
    return this.recordRefusals(async () => {
      // The answer to the first call may have been lost. A caller with the enrolled secret made its first
      // call in time.
      const enrolled = this.#actor.state.record?.secret === secret;
      if (!enrolled && droverNow() > expiresAt) {
        throw new DroverError("enrollment_over", "this enrollment code has expired; boot a new machine");
      }
      const { record } = this.#worker();
      if (record.phase === "shutdown" || record.phase === "gone") throw this.#terminated();
      if (isLateEnrollment({ ...this.#actor.state, record }, { secret, bootId })) {
        const text = "has started in another boot since; it must join instead of enrolling";
        throw new DroverError("enrollment_over", `the host of worker "${this.#name}" ${text}`);
      }
      // Secrets are sealed for the first key, so another one would make them useless (secrets.md#host-keys).
      if (record.secret === secret && (record.hostKey ?? null) !== (hostKey ?? null)) throw this.#codeUsed();
      const cloned = record.secret === secret && isClone(record, bootId);
      this.#actor.apply({ type: "enroll", secret, hostKey, bootId, resources });
      if (cloned) throw clonedHost();
      const living = this.#worker();
      if (living.record.secret === secret) return hostSetup(living, this.#env);
      throw this.#codeUsed();
    });
  }

  /** Joins a new start of the host's agent. */
  join(call: SignedCall): Promise<SignedAnswer<HostSetup>> {
    return this.answer(call, async () => {
      this.#pace.start();
      const { start: id, bootId } = parsedBody(JoinRequest, call.body);
      const signedAt = call.created * 1_000;
      return this.recordRefusals(async () => {
        const { record } = this.#worker();
        if (isSupersededJoin(record, id)) {
          throw new DroverError("stale_incarnation", "a later start of this host's agent has joined since");
        }
        if (isLateJoin(record, { id, signedAt })) throw lateJoin();
        const cloned = isRefusedClone(record, id, bootId);
        this.#actor.apply({ type: "join", id, signedAt, bootId });
        if (cloned) throw clonedHost();
        return hostSetup(this.#worker(), this.#env);
      });
    });
  }

  /** The key for a socket that the host has requested. */
  session(call: ClaimedRequest, challenge: string): Promise<SignedAnswer<string>> {
    return this.answer(call, async (secret) => {
      this.#pace.start();
      return sessionKey(secret, call.signature, challenge);
    });
  }

  /** Admits a call whose body, if any, goes elsewhere: logs of an attempt, a snapshot, a hello. */
  admit(call: ClaimedRequest, attempt?: string): Promise<SignedAnswer<null>> {
    return this.answer(call, async () => {
      // Anybody who has seen a hello can repeat it forever, so a hello costs the host nothing.
      if (call.purpose !== "hello") this.#pace.bytes();
      if (attempt !== undefined && !isPlaced(this.#worker(), attempt)) {
        const text = `attempt "${attempt}" was never placed on worker "${this.#name}"`;
        throw new DroverError("unknown_attempt", text);
      }
      return null;
    });
  }

  /**
   * Confirms that a request token was made with the host's secret, for an attempt that is to run now
   * (oidc.md#request-tokens). Throws `unauthorized`.
   */
  confirmAttempt(claim: AttemptClaim): void {
    const { record } = this.#actor.state;
    const key = record?.secret ? keyOf(record.secret) : NO_KEY;
    if (!isProven(key, claim) || key === NO_KEY || claim.worker !== this.#name) {
      throw new DroverError("unauthorized", "this is not the request token of an attempt here");
    }
    if (isOrdered(this.#worker(), claim.attempt)) return;
    const text = `the attempt "${claim.attempt}" is over, or is being stopped, so it gets no more tokens`;
    throw new DroverError("unauthorized", text);
  }

  /**
   * Carries out a call of this worker's host. Returns the answer and the key that signs it. A refusal is an
   * answer, too. Throws `bad_signature` if the call is not from the host.
   */
  async answer<T>(
    call: ClaimedRequest & { body?: string },
    work: (secret: Key) => Promise<T>,
  ): Promise<SignedAnswer<T>> {
    const { secret } = this.#actor.state.record ?? {};
    const key = secret === null || secret === undefined ? NO_KEY : keyOf(secret);
    if (!isSignedWith(key, call) || key === NO_KEY) {
      warnOfStranger(this.#name, droverNow());
      throw notKnown();
    }
    const signed = { answerKey: answerKey(key, call.signature) };
    try {
      // A hello only asks for a signed answer, so neither clock nor phase matters.
      if (call.purpose !== "hello") await this.recordRefusals(async () => this.#check(call));
      return { ...signed, value: await work(key) };
    } catch (error) {
      // A refusal of another object has lost its class.
      if (!isDroverError(error)) throw error;
      const { code, message, retryAfterMs, fields, extra } = error;
      return { ...signed, refused: { code, message, retryAfterMs, fields, extra } };
    }
  }

  /** Records each refusal of a caller that has the right key: the caller may be a clone or a thief. */
  async recordRefusals<T>(check: () => Promise<T>): Promise<T> {
    try {
      return await check();
    } catch (error) {
      if (error instanceof DroverError && this.#actor.state.record !== null) {
        this.#actor.apply({ type: "refused_host", kind: error.code, reason: error.message });
      }
      throw error;
    }
  }

  #worker(): ExistingWorker {
    return existingWorker(this.#actor, this.#name);
  }

  #check({ created, digest, body, purpose, nonce }: ClaimedRequest & { body?: string }): void {
    const now = droverNow();
    if (Math.abs(now - created * 1_000) > SIGNATURE_TOLERANCE_MS) {
      const text = "`created` is more than 5 minutes off; correct the clock by the time of this answer";
      throw new DroverError("bad_signature", text);
    }
    if (body !== undefined && contentDigest(body) !== digest) throw otherBody();
    const { phase } = this.#worker().record;
    if (phase === "gone" || (phase === "shutdown" && purpose === "join")) throw this.#terminated();
    if (phase === "shutdown" && !WHILE_ENDING.has(purpose)) {
      throw new DroverError("forbidden", `worker "${this.#name}" is ending: its host may only report`);
    }
    if (ONLY_ONCE.has(purpose) && !this.#nonces.isNew(nonce, now)) {
      throw new DroverError("bad_signature", "this call was made before; sign each call with a new nonce");
    }
  }

  #codeUsed(): DroverError {
    return new DroverError("code_used", "this enrollment code has been used, by another machine");
  }

  #terminated(): DroverError {
    const text = `worker "${this.#name}" has been terminated; shut this machine down`;
    return new DroverError("enrollment_over", text);
  }
}

/** This refusal is temporary: an agent whose clock was set back signs again by the time of this answer. */
function lateJoin(): DroverError {
  const text =
    "this join was signed before the latest start, so it may be from an earlier start; sign it again, by " +
    "the time of this answer";
  return new DroverError("bad_signature", text);
}

function clonedHost(): DroverError {
  const text =
    "another machine also acts as this host: its disk, or its Drover state, was copied. Both are refused " +
    "now; enroll each with its own code";
  return new DroverError("cloned", text);
}
