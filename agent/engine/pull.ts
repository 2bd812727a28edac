// How is an image pulled, and when is a pull given up?
import { EngineError } from "./errors.ts";
import { PullError } from "./image-errors.ts";
import { imageReference } from "./image-reference.ts";
import { JsonLines } from "./json-lines.ts";
import {
  foldPull,
  mayUnpack,
  type PullProgress,
  progressOf,
  progressText,
  UNPULLED,
} from "./pull-progress.ts";
import { registryAuthHeader } from "./registry-auth.ts";
import { type Ask, ask, piecesOf } from "./transport.ts";
import type { RegistryAuth } from "./types.ts";

/** How long a pull may stand still (engine.md#pull). */
const STALL_MS = 120_000;

/** How many times as long it may stand still while the engine may be unpacking. */
const UNPACK_TIMES = 5;

export interface PullOptions {
  auth?: RegistryAuth | undefined;
  /** `linux/arm64`; none: the engine's own. */
  platform?: string | undefined;
  signal?: AbortSignal | undefined;
  /** Called after each line that the engine writes. */
  onProgress?: ((progress: PullProgress) => void) | undefined;
  /** How long the pull may stand still; 2 minutes if undefined. */
  stallMs?: number | undefined;
}

/**
 * Pulls an image (engine.md#pull). Reads to the end, since an error may come after a good beginning. Rejects
 * with `PullError` for an error of the pull, with `timeout` if it stands still.
 */
export async function pull(
  socketPath: string,
  prefix: string,
  reference: string,
  { auth, platform, signal, onProgress, stallMs = STALL_MS }: PullOptions,
): Promise<void> {
  const { name, version } = imageReference(reference);
  const wanted = new URLSearchParams({ fromImage: name, tag: version, ...(platform && { platform }) });
  const stall = new AbortController();
  let state = UNPULLED;
  let stills = 0;
  const timer = setTimeout(() => {
    stills += 1;
    if (mayUnpack(state) && stills < UNPACK_TIMES) timer.refresh();
    else stall.abort();
  }, stallMs).unref();
  const one: Ask = {
    what: `pull the image ${reference}`,
    method: "POST",
    path: `${prefix}/images/create?${wanted}`,
    headers: auth && { "x-registry-auth": registryAuthHeader(auth) },
    signal: signal === undefined ? stall.signal : AbortSignal.any([signal, stall.signal]),
    timeoutMs: undefined,
  };
  const take = (lines: unknown[]) => {
    const before = state.movements;
    for (const line of lines) state = foldPull(state, line);
    if (state.movements > before) {
      stills = 0;
      timer.refresh();
    }
    if (lines.length > 0) onProgress?.(progressOf(state));
  };
  try {
    const response = await ask(socketPath, one);
    const lines = new JsonLines();
    for await (const piece of piecesOf(one, response)) take(lines.push(piece));
    take(lines.end());
  } catch (error) {
    if (stall.signal.aborted && signal?.aborted !== true)
      throw stalled(reference, stills * stallMs, progressOf(state));
    throw error instanceof EngineError && error.status !== undefined
      ? new PullError(reference, error.said || error.message, error.status)
      : error;
  } finally {
    clearTimeout(timer);
  }
  if (state.error !== undefined) throw new PullError(reference, state.error);
}

function stalled(reference: string, stillMs: number, progress: PullProgress): EngineError {
  const last =
    progress.last === "" ? "The engine has said nothing." : `The engine said last: "${progress.last}".`;
  const text =
    `The image ${reference} was pulled, but for ${stillMs / 1_000} s nothing has moved ` +
    `(${progressText(progress)}). ${last} Check the machine's way to the registry.`;
  return new EngineError("timeout", text);
}
