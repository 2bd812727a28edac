// How does a host download and upload snapshots?
import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { STORE_OUTPUTS_MS } from "../../src/shared/limits.ts";
import type { Millis } from "../../src/shared/machine.ts";
import { errorText } from "../../src/shared/words.ts";
import { SENT_AT_ONCE_BYTES } from "../core/bounds.ts";
import { retryDelayMs } from "../core/reports/pace.ts";
import type { Source } from "../exec/files/download.ts";
import { type ControlPlane, Refusal } from "./control-plane.ts";
import type { Answer } from "./http.ts";
import type { SignedCall } from "./sign.ts";

/** An upload without progress for this long has failed. */
const UPLOAD_STALLS_MS: Millis = 2 * 60_000;

/** The status of a refusal that is due to the time in the signature. */
const OTHER_TIME = 401;

/** Time limits of an upload; tests use shorter ones. */
export interface UploadBounds {
  /** A try without progress for this long has failed. */
  stallsMs: Millis;
  /** No new try begins later than this after the first failure. */
  givenUpMs: Millis;
}

const UPLOAD_BOUNDS: UploadBounds = { stallsMs: UPLOAD_STALLS_MS, givenUpMs: STORE_OUTPUTS_MS };

/** An archive to store, and its digest. */
export interface Upload {
  file: string;
  sha256: string;
  bytes: number;
}

/** This machine cannot read the file to send; retrying is pointless. */
class Unreadable extends Error {}

/** The digest in the name of a snapshot, in hex. */
export function digestIn(snapshot: string): string {
  return snapshot.slice(snapshot.indexOf(":") + 1);
}

/** The snapshots of the control plane, reached by signed calls. */
export class Snapshots {
  readonly #plane: ControlPlane;
  readonly #url: string;
  readonly #bounds: UploadBounds;

  constructor(plane: ControlPlane, url: string, bounds = UPLOAD_BOUNDS) {
    this.#plane = plane;
    this.#url = url;
    this.#bounds = bounds;
  }

  /** The source to download a snapshot from. */
  sourceOf(snapshot: string): Source {
    return {
      url: `${this.#url}/${snapshot}`,
      sha256: digestIn(snapshot),
      what: `The snapshot ${snapshot}`,
      code: "snapshot_failed",
      sign: (url) => {
        const call = this.#plane.signed("GET", url, "get-snapshot");
        const isFinal = (answer: Answer) => this.#isFinal(call, answer);
        return { headers: { ...call.headers }, agent: this.#plane.agent, isFinal };
      },
    };
  }

  /** Whether a refusal is final. If the refusal is unsigned, or due to the clock, a retry may succeed. */
  #isFinal(call: SignedCall, answer: Answer): boolean {
    try {
      const refusal = this.#plane.refusalIn(call, answer);
      return refusal !== undefined && refusal.status !== OTHER_TIME;
    } catch {
      return false;
    }
  }

  /**
   * Stores an archive under its digest. Temporary failures are retried, with a growing wait, until
   * `givenUpMs` have passed. Rejects with the last error, or with the reason of the signal.
   */
  async store(upload: Upload, signal: AbortSignal): Promise<void> {
    let until: number | undefined;
    for (let failures = 1; ; failures += 1) {
      try {
        return await this.#storeOnce(upload, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof Unreadable || (error instanceof Refusal && error.isFinal)) throw error;
        const { retryAfterMs = 0 } = error instanceof Refusal ? error : {};
        const waitMs = Math.max(retryAfterMs, retryDelayMs(failures, Math.random()));
        until ??= performance.now() + this.#bounds.givenUpMs;
        if (performance.now() + waitMs > until) {
          throw new Error(`${errorText(error)} (${failures} tries, no success for too long)`);
        }
        await sleep(waitMs, undefined, { signal });
      }
    }
  }

  async #storeOnce({ file, sha256, bytes }: Upload, signal: AbortSignal): Promise<void> {
    const { stallsMs } = this.#bounds;
    const url = `${this.#url}/sha256:${sha256}`;
    const digest = Buffer.from(sha256, "hex").toString("base64");
    let unreadable: Unreadable | undefined;
    // Only an error of the file's own stream means that the file is unreadable. A broken connection also
    // makes the stream around it fail.
    const opened = () =>
      createReadStream(file, { highWaterMark: SENT_AT_ONCE_BYTES }).once("error", (error) => {
        unreadable = new Unreadable(`The archive cannot be read: ${errorText(error)}`);
      });
    const watched = async function* (onProgress: () => void) {
      for await (const part of opened()) {
        onProgress();
        yield part;
      }
    };
    try {
      const why = `nothing was sent or answered for ${stallsMs / 1_000} s`;
      await unlessStalled(stallsMs, why, signal, (both, onProgress) => {
        const open = () => Readable.from(watched(onProgress), { objectMode: false });
        return this.#plane.put(url, "put-snapshot", { bytes, open, sha256: digest }, both);
      });
    } catch (error) {
      throw unreadable ?? error;
    }
  }
}

/**
 * Gives up `work` that makes no progress for too long, with the reason `why`. The function does not wait
 * until the work ends: in a file system that hangs, the work never ends.
 */
export async function unlessStalled<Result>(
  stallsMs: Millis,
  why: string,
  signal: AbortSignal,
  work: (signal: AbortSignal, onProgress: () => void) => Promise<Result>,
): Promise<Result> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(new Error(why)), stallsMs);
  try {
    const both = AbortSignal.any([signal, stop.signal]);
    const stopped = new Promise<never>((_, reject) => {
      both.addEventListener("abort", () => reject(both.reason), { once: true });
    });
    return await Promise.race([work(both, () => void timer.refresh()), stopped]);
  } finally {
    clearTimeout(timer);
  }
}
