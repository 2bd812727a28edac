// How does an image get onto this machine, once for all that wait for it (containers.md#images)?
import { statfs } from "node:fs/promises";
import type { Container } from "../../src/schema/run/container.ts";
import type { StartErrorCode } from "../../src/schema/run/task.ts";
import { formatDuration } from "../../src/shared/duration.ts";
import type { Millis } from "../../src/shared/machine.ts";
import type { Engine } from "../engine/engine.ts";
import { EngineError } from "../engine/errors.ts";
import { type ImageFault, isRetried, PullError } from "../engine/image-errors.ts";
import { type PullProgress, progressText } from "../engine/pull-progress.ts";
import type { ImageFacts, RegistryAuth } from "../engine/types.ts";
import { StartFault } from "../exec/start-fault.ts";
import { say } from "../say.ts";
import type { UsableEngine } from "./engine-watch.ts";
import { type ImageUse, imageToRemove } from "./image-use.ts";

/** A pull that takes longer than this is given up, even if it moves. */
const PULL_MS: Millis = 60 * 60_000;

const CODES: Record<ImageFault, StartErrorCode> = {
  missing: "image_missing",
  wrong_arch: "image_missing",
  denied: "image_denied",
  rate_limit: "image_failed",
  no_space: "image_failed",
  temporary: "image_failed",
};

export interface ImageWish {
  container: Pick<Container, "image" | "pull">;
  auth: RegistryAuth | undefined;
  /** Ends the wait of this attempt, and not the pull while others wait for it. */
  signal: AbortSignal;
  /** Called with what is being done, in words. */
  progress: (text: string) => void;
}

interface Pull {
  done: Promise<void>;
  /** Those who wait for it. */
  waiting: Set<ImageWish>;
  stop: AbortController;
}

/** Pulls images. Each is pulled once at a time, however many attempts wait for it. */
export class Images {
  readonly #pulls = new Map<string, Pull>();
  readonly #use: ImageUse;

  constructor(use: ImageUse) {
    this.#use = use;
  }

  /**
   * Makes sure that the machine has the image, and resolves with what it is. Rejects with a `StartFault`, or
   * with the reason of the signal.
   */
  async ensure(engine: Engine, wish: ImageWish): Promise<ImageFacts> {
    const { image, pull } = wish.container;
    const known = await inspected(engine, image);
    if (known !== undefined && pull !== "always") {
      this.#use.used(known.id, Date.now());
      return known;
    }
    if (pull === "never") {
      const text = `This machine has no image ${image}, and the task says \`"pull": "never"\`.`;
      throw new StartFault("image_missing", `${text} Put the image on the machine, or leave \`pull\` out.`);
    }
    await this.#pulled(engine, wish);
    const pulled = await inspected(engine, image);
    if (pulled !== undefined) {
      // What was there before is somebody else's, unless this host has pulled it.
      if (pulled.id === known?.id) this.#use.used(pulled.id, Date.now());
      else this.#use.pulled(pulled.id, Date.now());
      return pulled;
    }
    const text = `The engine has pulled ${image}, and does not have it. The next attempt pulls it again.`;
    throw new StartFault("image_failed", text, { recoverable: true });
  }

  /**
   * Removes an image if the engine's disk is nearly full: one at a time, and never one that a container has,
   * which no engine removes without force (containers.md#clean-up). Never rejects.
   */
  async makeRoom({ engine, facts }: UsableEngine): Promise<void> {
    let id: string | undefined;
    try {
      id = imageToRemove(this.#use.uses, await usedPartOf(facts.rootDir), Date.now());
      if (id === undefined) return;
      await engine.removeImage(id);
      this.#use.forget(id);
      say(`removed the image ${id}, since the disk of the container engine is nearly full`);
    } catch {
      // A container has it: it is used now.
      if (id !== undefined) this.#use.used(id, Date.now());
    }
  }

  async #pulled(engine: Engine, wish: ImageWish): Promise<void> {
    // Others' credentials must not open an image.
    const key = JSON.stringify([wish.container.image, wish.auth ?? null]);
    const pull = this.#pulls.get(key) ?? this.#begin(engine, key, wish);
    pull.waiting.add(wish);
    const leaving = new AbortController();
    try {
      wish.signal.throwIfAborted();
      const left = new Promise<never>((_, reject) => {
        const leave = () => reject(wish.signal.reason);
        wish.signal.addEventListener("abort", leave, { signal: leaving.signal });
      });
      await Promise.race([pull.done, left]);
    } finally {
      leaving.abort();
      pull.waiting.delete(wish);
      if (pull.waiting.size === 0) {
        // Nobody joins a pull that ends.
        if (this.#pulls.get(key) === pull) this.#pulls.delete(key);
        pull.stop.abort();
      }
    }
  }

  #begin(engine: Engine, key: string, { container, auth }: ImageWish): Pull {
    const stop = new AbortController();
    const waiting = new Set<ImageWish>();
    const done = this.#pull(engine, container.image, auth, stop, (text) => {
      for (const one of waiting) one.progress(text);
    });
    const pull = { done, waiting, stop };
    const over = () => {
      if (this.#pulls.get(key) === pull) this.#pulls.delete(key);
    };
    // Nobody may be left to hear of the end.
    done.then(over, over);
    this.#pulls.set(key, pull);
    return pull;
  }

  async #pull(
    engine: Engine,
    image: string,
    auth: RegistryAuth | undefined,
    stop: AbortController,
    say: (text: string) => void,
  ): Promise<void> {
    const late = AbortSignal.timeout(PULL_MS);
    const onProgress = (progress: PullProgress) => say(`pulling ${image}: ${progressText(progress)}`);
    say(`pulling ${image}`);
    try {
      await engine.pullImage(image, { auth, signal: AbortSignal.any([stop.signal, late]), onProgress });
    } catch (error) {
      throw late.aborted ? lateFault(image) : faultOfPull(error);
    }
  }
}

function lateFault(image: string): StartFault {
  const text = `The pull of the image ${image} was given up after ${formatDuration(PULL_MS)}.`;
  return new StartFault("image_failed", `${text} Use a smaller image, or look at the machine's network.`, {
    recoverable: true,
  });
}

/** What the engine says of an image. An engine that is away need not be away at the next try. */
async function inspected(engine: Engine, image: string): Promise<ImageFacts | undefined> {
  try {
    return await engine.inspectImage(image);
  } catch (error) {
    throw faultOfPull(error);
  }
}

/** Which part of the disk of a directory is in use; 0 if the system does not say. */
async function usedPartOf(dir: string): Promise<number> {
  try {
    const { blocks, bavail } = await statfs(dir);
    return blocks === 0 ? 0 : 1 - bavail / blocks;
  } catch {
    return 0;
  }
}

/** The fault of a start whose image could not be pulled. Another try helps only against some faults. */
function faultOfPull(error: unknown): unknown {
  if (error instanceof PullError) {
    const more = isRetried(error.fault) ? { recoverable: true } : {};
    return new StartFault(CODES[error.fault], error.message, more);
  }
  if (!(error instanceof EngineError)) return error;
  return new StartFault("engine_failed", error.message, { recoverable: true });
}
