// How does this machine enroll, or rejoin as the same host after a restart (host-protocol.md#joining)?

import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { arch, platform } from "node:os";
import { join as inState } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { writeAtomically } from "../../disk/atomic.ts";
import { isDiskFull } from "../../posix/errors.ts";
import { readIfThere } from "../../posix/files.ts";
import type { Resources } from "../../src/schema/common.ts";
import type { EnrollRequest, HostSetup, JoinRequest } from "../../src/schema/host.ts";
import type { Millis } from "../../src/shared/machine.ts";
import { errorText } from "../../src/shared/words.ts";
import { type Code, hostSecret, readCode } from "../../src/signing/code.ts";
import { keyOf } from "../../src/signing/mac.ts";
import { BACKOFF_LONGEST_MS, EXCHANGE_TIMEOUT_MS } from "../core/bounds.ts";
import { retryDelayMs } from "../core/reports/pace.ts";
import { say } from "../say.ts";
import { ControlPlane, Refusal, Unproven } from "./control-plane.ts";
import { safeUrl, UnsafeUrl } from "./safe-url.ts";
import { makeSalt } from "./sign.ts";

/** Longest back-off while the answers are unsigned: another program may have the address for good. */
const UNKNOWN_BACKOFF_MS: Millis = 5 * 60_000;
/** How often the log repeats why this host cannot join. */
const SAY_AGAIN_MS: Millis = 3_600_000;

declare const DROVER_VERSION: string;

/** Statuses that are final. 401 is not: the clock may have been set during the call. */
const FINAL_STATUSES = new Set([400, 403, 404, 409, 410, 413, 422]);
/** The status that says that the code, or this host's worker, is no longer valid. */
const OVER_STATUS = 410;

export interface JoinOptions {
  url: string;
  stateDir: string;
  /** Absent if this host is already enrolled. */
  codeFile?: string | undefined;
  bootId: string;
  resources: Resources;
  /** The key for which secrets are sealed (secrets.md#host-keys). */
  publicKey: string;
  /** Whether this machine may become another worker's host (`isFree` in `core/lease.ts`). */
  isFree: () => boolean;
}

/** A joined host: it has a secret that the control plane knows, and a new incarnation. */
export interface Joined {
  plane: ControlPlane;
  setup: HostSetup;
}

/**
 * Enrolls this machine, or rejoins as the host that it was before (host-protocol.md#joining). Retries until
 * it succeeds. Rejects if a retry cannot help (`Refusal`, `UnsafeUrl`), or when `signal` aborts.
 */
export async function joinControlPlane(options: JoinOptions, signal: AbortSignal): Promise<Joined> {
  const setupFile = inState(options.stateDir, "setup.json");
  const stored = readIfThere(setupFile);
  const before = stored === undefined ? undefined : setupFrom(JSON.parse(stored));
  try {
    const setup = await (before === undefined ? enroll(options, signal) : join(before, options, signal));
    keep(setupFile, setup, before !== undefined);
    return { plane: planeOf(options.stateDir, setup), setup };
  } catch (error) {
    const isOver = error instanceof Refusal && error.status === OVER_STATUS;
    if (before === undefined || !isOver || !hasOtherCode(before, options)) throw error;
    say(`is no longer ${before.worker} (${errorText(error)}), and enrolls again with its code`);
    for (const name of ["setup.json", "secret", "salt"])
      rmSync(inState(options.stateDir, name), { force: true });
    return joinControlPlane(options, signal);
  }
}

/**
 * Whether this machine has a code for another worker. If it enrolls with this code, it reports leftover
 * attempts of the old worker to the new worker. The orders of the new worker omit these attempts, so they are
 * stopped.
 */
function hasOtherCode({ worker }: HostSetup, { codeFile }: JoinOptions): boolean {
  const code = codeFile === undefined ? "" : (readIfThere(codeFile)?.trim() ?? "");
  return code !== "" && !code.startsWith(`drvc_${worker}.`);
}

/**
 * Stores the setup. If the disk is full, an older setup is enough: a full disk must not end an existing host.
 */
function keep(file: string, setup: HostSetup, hasOlder: boolean): void {
  try {
    writeAtomically(file, `${JSON.stringify(setup)}\n`);
  } catch (error) {
    if (!hasOlder || !isDiskFull(error)) throw error;
    say(`cannot write ${file}, and continues with the older one: ${errorText(error)}`);
  }
}

/**
 * Enrolls. Neither code nor secret is sent: both sides derive the secret from the code's key and a salt. The
 * salt is stored before it is sent, so that a crashed agent retries with the same salt and gets the same
 * answer.
 */
async function enroll(options: JoinOptions, signal: AbortSignal): Promise<HostSetup> {
  const { keepSecret, post } = enrollment(options);
  keepSecret();
  return persist(signal, post);
}

/**
 * Prepares an enrollment. The salt is the same for every code; the secret depends on the salt and the code.
 */
function enrollment(options: JoinOptions) {
  const { stateDir, bootId, resources, publicKey } = options;
  const code = codeOf(options);
  const salt = readIfThere(inState(stateDir, "salt"))?.trim() || makeSalt();
  writeAtomically(inState(stateDir, "salt"), `${salt}\n`);
  const agent = { version: DROVER_VERSION, os: platform(), arch: arch() };
  const body = JSON.stringify({ salt, agent, bootId, resources, publicKey } satisfies EnrollRequest);
  const plane = new ControlPlane({ key: code.key, keyid: code.claim });
  const url = `${baseOf(options)}/v1/hosts/enroll`;
  const post = (limit: AbortSignal) => plane.post(url, "enroll", body, limit);
  const secretFile = inState(stateDir, "secret");
  return { keepSecret: () => writeAtomically(secretFile, `${hostSecret(code.key, salt)}\n`), post };
}

/**
 * Enrolls as the host of another worker. Nobody can prove that a forgotten worker has ended, so a free
 * machine tries its newer code. It keeps its old identity until that code is accepted.
 */
async function becomeAnother(options: JoinOptions, limit: AbortSignal): Promise<HostSetup> {
  const { keepSecret, post } = enrollment(options);
  const setup = setupFrom(await post(limit));
  keepSecret();
  return setup;
}

function join(before: HostSetup, options: JoinOptions, signal: AbortSignal): Promise<HostSetup> {
  const { worker } = before;
  const { bootId, isFree } = options;
  const plane = planeOf(options.stateDir, before);
  const url = `${baseOf(options)}/v1/hosts/${encodeURIComponent(worker)}/join`;
  const body = JSON.stringify({ start: randomUUID(), bootId } satisfies JoinRequest);
  return persist(signal, async (limit) => {
    try {
      return await plane.post(url, "join", body, limit);
    } catch (error) {
      if (!(error instanceof Unproven) || !isFree() || !hasOtherCode(before, options)) throw error;
      return becomeAnother(options, limit).catch((refused: unknown) => {
        throw new Unproven(`${errorText(error)} Its code for another worker: ${errorText(refused)}`);
      });
    }
  });
}

function planeOf(stateDir: string, { worker }: HostSetup): ControlPlane {
  const secret = readIfThere(inState(stateDir, "secret"))?.trim() ?? "";
  return new ControlPlane({ key: keyOf(secret), keyid: worker });
}

function baseOf({ url }: JoinOptions): string {
  return url.replace(/\/+$/, "");
}

function codeOf({ codeFile }: JoinOptions): Code {
  const text = codeFile === undefined ? undefined : readIfThere(codeFile)?.trim();
  const code = readCode(text ?? "");
  if (code !== undefined) return code;
  const why = text
    ? `${codeFile} does not contain a valid enrollment code: check that it was copied completely.`
    : "This machine is not enrolled yet, and there is no code: pass one with --code-file.";
  throw new Refusal(0, why);
}

async function persist(
  signal: AbortSignal,
  attempt: (limit: AbortSignal) => Promise<unknown>,
): Promise<HostSetup> {
  let sayAt = performance.now();
  for (let failures = 0; ; failures += 1) {
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(EXCHANGE_TIMEOUT_MS)]);
      return setupFrom(await attempt(limit));
    } catch (error) {
      const refused = error instanceof Refusal ? error : undefined;
      if (signal.aborted || error instanceof UnsafeUrl) throw error;
      if (refused !== undefined && (refused.status === 0 || FINAL_STATUSES.has(refused.status)))
        throw refused;
      if (performance.now() >= sayAt) {
        say(`cannot join yet, and keeps trying: ${errorText(error)}`);
        sayAt = performance.now() + SAY_AGAIN_MS;
      }
      const longestMs = error instanceof Unproven ? UNKNOWN_BACKOFF_MS : BACKOFF_LONGEST_MS;
      const delayMs = Math.max(retryDelayMs(failures, Math.random(), longestMs), refused?.retryAfterMs ?? 0);
      await sleep(delayMs, undefined, { signal });
    }
  }
}

/** Accepts an answer only if it has the fields that the agent relies on. */
function setupFrom(answer: unknown): HostSetup {
  // The fields that the agent relies on are checked below. A schema library would double the agent's memory.
  const setup = answer as HostSetup;
  const complete =
    typeof setup?.worker === "string" &&
    typeof setup.reportUrl === "string" &&
    Number.isInteger(setup.incarnation) &&
    typeof setup.probe?.boot === "string" &&
    setup.probe.intervalMs > 0 &&
    setup.leaseMs > 0;
  for (const url of complete
    ? [setup.reportUrl, setup.socketUrl, setup.logsUrl, setup.snapshotsUrl, setup.secretsUrl]
    : []) {
    if (url !== undefined) safeUrl(url);
  }
  if (!complete) throw new Error("The answer to the enrollment is incomplete: is this the control plane?");
  return setup;
}
