import {
  isClone,
  isLateEnrollment,
  isLateJoin,
  isOutrunJoin,
  isRefusedClone,
} from "../../core/worker/host/enrollment.ts";
import { isPlaced } from "../../core/worker/placements.ts";
import type { HostSetup } from "../../schema/host.ts";
import { DroverError, notKnown, otherBody } from "../../shared/errors.ts";
import { SIGNATURE_TOLERANCE_MS } from "../../shared/limits.ts";
import { answerKey } from "../../signing/answer.ts";
import { hostSecret } from "../../signing/code.ts";
import { sessionKey } from "../../signing/frame.ts";
import { contentDigest, type Key, keyOf } from "../../signing/mac.ts";
import { type ClaimedRequest, isSignedWith, type Purpose } from "../../signing/request.ts";
import { droverNow } from "../clock.ts";
import type { Env } from "../env.ts";
import type { Answered, EnrollCall, SignedCall } from "../rpc.ts";
import { livingWorker, type WorkerActor } from "./exchange.ts";
import { hostSetup, parseEnrollment, parseJoin } from "./host-calls.ts";
import type { HostPace } from "./host-pace.ts";
import { Nonces } from "./nonces.ts";
import { warnOfStranger } from "./strangers.ts";

/**
 * What a worker that has no host compares signatures with: it takes as long, and is refused whatever it says.
 */
const NOBODY: Key = new Uint8Array(32);
/** What may be asked for once only: an upload, or a download, by a call that somebody else has seen. */
const ONCE = new Set<Purpose>(["get-snapshot", "put-snapshot"]);
/** What a host may do still when its worker ends. */
const TO_THE_END = new Set<Purpose>(["report"]);

/**
 * Where hosts come in (protocol.md#a-signed-call). Who they are is found out here, by one HMAC; before that
 * nothing is stored, and nothing that is answered depends on whether there is such a worker.
 */
export class HostDoor {
  readonly #actor: WorkerActor;
  readonly #name: () => string;
  readonly #env: Env;
  readonly #pace: HostPace;
  readonly #nonces = new Nonces();

  constructor(actor: WorkerActor, name: () => string, env: Env, pace: HostPace) {
    this.#actor = actor;
    this.#pace = pace;
    this.#name = name;
    this.#env = env;
  }

  /** A machine that has the worker's code becomes its host. That it has the code is known already. */
  async enroll({ body, codeKey, expiresAt }: EnrollCall): Promise<HostSetup> {
    const { salt, bootId, resources } = parseEnrollment(body);
    const secret = hostSecret(keyOf(codeKey), salt);
    return this.noting(async () => {
      // Its answer may have been lost: whoever has this very secret was in time.
      const enrolled = this.#actor.state.record?.secret === secret;
      if (!enrolled && droverNow() > expiresAt) {
        throw new DroverError("enrollment_over", "this enrollment code has expired; boot the machine anew");
      }
      const { record } = livingWorker(this.#actor, this.#name());
      if (record.phase === "shutdown" || record.phase === "gone") throw this.#over();
      if (isLateEnrollment({ ...this.#actor.state, record }, { secret, bootId })) throw this.#begunAlready();
      const cloned = record.secret === secret && isClone(record, bootId);
      this.#actor.apply({ type: "enroll", secret, bootId, resources });
      if (cloned) throw clonedHost();
      const living = livingWorker(this.#actor, this.#name());
      if (living.record.secret === secret) return hostSetup(living, this.#env);
      throw new DroverError("code_used", "this enrollment code has been used, by another machine");
    });
  }

  /** Another start of the host's agent. */
  join(call: SignedCall): Promise<Answered<HostSetup>> {
    return this.answer(call, async () => {
      this.#pace.start();
      const { start: id, bootId } = parseJoin(call.body);
      const signedAt = call.created * 1_000;
      return this.noting(async () => {
        const { record } = livingWorker(this.#actor, this.#name());
        if (isOutrunJoin(record, id)) throw outrunJoin();
        if (isLateJoin(record, { id, signedAt })) throw lateJoin();
        const cloned = isRefusedClone(record, id, bootId);
        this.#actor.apply({ type: "join", id, signedAt, bootId });
        if (cloned) throw clonedHost();
        return hostSetup(livingWorker(this.#actor, this.#name()), this.#env);
      });
    });
  }

  /** The key of a socket that its host has asked for. */
  session(call: ClaimedRequest, challenge: string): Promise<Answered<string>> {
    return this.answer(call, async (secret) => {
      this.#pace.start();
      return sessionKey(secret, call.signature, challenge);
    });
  }

  /** Lets a call pass whose body does not come here: a log of an attempt, a snapshot, a hello. */
  admit(call: ClaimedRequest, attempt?: string): Promise<Answered<null>> {
    return this.answer(call, async () => {
      // Whoever has seen a hello can repeat it for ever: it uses nothing up.
      if (call.purpose !== "hello") this.#pace.bytes();
      const living = livingWorker(this.#actor, this.#name());
      if (attempt !== undefined && !isPlaced(living, attempt)) throw notPlaced(this.#name(), attempt);
      return null;
    });
  }

  /**
   * Does what a call of this worker's host asks for, and gives what its answer is to be signed with. What it
   * is refused with is an answer, too. Throws `bad_signature` if it is nobody's call.
   */
  async answer<T>(
    call: ClaimedRequest & { body?: string },
    work: (secret: Key) => Promise<T>,
  ): Promise<Answered<T>> {
    const { secret } = this.#actor.state.record ?? {};
    const key = secret === null || secret === undefined ? NOBODY : keyOf(secret);
    if (!isSignedWith(key, call) || key === NOBODY) {
      warnOfStranger(this.#name(), droverNow());
      throw notKnown();
    }
    const signed = { answerKey: answerKey(key, call.signature) };
    try {
      // It asks for nothing but the answer's signature, so neither clock nor phase matters.
      if (call.purpose !== "hello") await this.noting(async () => this.#check(call));
      return { ...signed, value: await work(key) };
    } catch (error) {
      if (!(error instanceof DroverError)) throw error;
      const { code, message, retryAfterMs, fields, extra } = error;
      return { ...signed, refused: { code, message, retryAfterMs, fields, extra } };
    }
  }

  /** What is refused to somebody with the right key is noted with the worker: a clone, or a thief. */
  async noting<T>(check: () => Promise<T>): Promise<T> {
    try {
      return await check();
    } catch (error) {
      if (error instanceof DroverError && this.#actor.state.record !== null) {
        this.#actor.apply({ type: "refused_host", kind: error.code, reason: error.message });
      }
      throw error;
    }
  }

  #check({ created, digest, body, purpose, nonce }: ClaimedRequest & { body?: string }): void {
    const now = droverNow();
    if (Math.abs(now - created * 1_000) > SIGNATURE_TOLERANCE_MS) {
      const text = "`created` is more than 5 minutes off; correct the clock by that of this answer";
      throw new DroverError("bad_signature", text);
    }
    if (body !== undefined && contentDigest(body) !== digest) throw otherBody();
    const { phase } = livingWorker(this.#actor, this.#name()).record;
    if (phase === "gone" || (phase === "shutdown" && purpose === "join")) throw this.#over();
    if (phase === "shutdown" && !TO_THE_END.has(purpose)) {
      throw new DroverError("forbidden", `worker "${this.#name()}" is ending: its host reports, and no more`);
    }
    if (ONCE.has(purpose) && !this.#nonces.isNew(nonce, now)) {
      throw new DroverError("bad_signature", "this call was made before; sign each one anew");
    }
  }

  #over(): DroverError {
    const text = `worker "${this.#name()}" is over; this machine is not wanted any more`;
    return new DroverError("enrollment_over", text);
  }

  #begunAlready(): DroverError {
    const host = `the host of worker "${this.#name()}"`;
    const text = `${host} has begun in another boot since; it joins, and enrolls no more`;
    return new DroverError("enrollment_over", text);
  }
}

function notPlaced(worker: string, attempt: string): DroverError {
  return new DroverError("unknown_attempt", `attempt "${attempt}" was never placed on worker "${worker}"`);
}

function outrunJoin(): DroverError {
  return new DroverError("stale_incarnation", "a later start of this host's agent has joined since");
}

/** Not for good: an agent whose clock was set back signs by the time of this answer. */
function lateJoin(): DroverError {
  const text =
    "this join was signed before that of the latest start: it may be an earlier one; sign it anew, by the " +
    "clock of this answer";
  return new DroverError("bad_signature", text);
}

function clonedHost(): DroverError {
  const text =
    "another machine starts as this host by turns: its disk, or its Drover state, was copied. Neither is " +
    "listened to any more; enroll each with a code of its own";
  return new DroverError("cloned", text);
}
