// How a file is downloaded: resumed after breaks, verified, given up when too slow.
import { createWriteStream, rmSync, statSync } from "node:fs";
import { type IncomingMessage, type Agent as PlainAgent, request as plainRequest } from "node:http";
import { request as tlsRequest } from "node:https";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { isDiskFull } from "../../../posix/errors.ts";
import type { Millis } from "../../../src/shared/machine.ts";
import { backOffMs } from "../../../src/shared/time/backoff.ts";
import { errorText } from "../../../src/shared/words.ts";
import {
  ARTIFACT_LEAST_BYTES,
  ARTIFACT_RETRY_FIRST_MS,
  ARTIFACT_SLOW_MS,
  ARTIFACT_TRIES,
  MAX_ARTIFACT_BYTES,
  MAX_REDIRECTS,
} from "../../core/bounds.ts";
import type { Answer } from "../../plane/http.ts";
import { safeUrl } from "../../plane/safe-url.ts";
import { StartFault } from "../start-fault.ts";

// `node:http` and not `fetch`: see `plane/http.ts`.

/** What is fetched, from where. */
export interface Source {
  url: string;
  /** What it is called in the fault if it cannot be had (`The artifact …`), and the code of that. */
  what: string;
  code: "artifact_failed" | "snapshot_failed";
  /** Signs one try. Absent: anybody may have it, and redirects are followed. */
  sign?: (url: string) => SignedTry;
}

/** The headers that say who asks, and whether a refusal is one of who was asked, and for good. */
export interface SignedTry {
  headers: Record<string, string>;
  /** Makes the connections that no certificate proves. */
  agent: PlainAgent;
  isFinal(answer: Answer): boolean;
}

/** What a download may take. Tests have smaller ones. */
export interface DownloadBounds {
  bytes: number;
  slowMs: Millis;
  leastBytes: number;
  tries: number;
  retryFirstMs: Millis;
}

export const DOWNLOAD_BOUNDS: DownloadBounds = {
  bytes: MAX_ARTIFACT_BYTES,
  slowMs: ARTIFACT_SLOW_MS,
  leastBytes: ARTIFACT_LEAST_BYTES,
  tries: ARTIFACT_TRIES,
  retryFirstMs: ARTIFACT_RETRY_FIRST_MS,
};

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Answers that may be others later, beside all from 500 on. */
const PASSING = new Set([408, 425, 429]);

/** A refusal above this is none of a control plane. */
const MAX_REFUSAL_CHARS = 64 * 1024;

/** One try has ended early; another one may go on where it has. */
class Interrupted extends Error {}

/** What has come is not what was asked for; another try begins anew. */
export class Spoilt extends Interrupted {}

/**
 * Fetches something into a file and goes on with what is there of it already. What was interrupted is tried
 * again, with a growing wait, until tries in a row have brought next to nothing. Throws a `StartFault` that
 * says why it cannot be had, or the reason of the signal. `check` looks at what has come: it may throw
 * `Spoilt`.
 */
export async function download(
  from: Source,
  file: string,
  signal: AbortSignal,
  bounds: DownloadBounds = DOWNLOAD_BOUNDS,
  check?: () => Promise<void>,
): Promise<void> {
  for (let failures = 0; ; ) {
    const before = sizeOf(file);
    try {
      await tryOnce(from, file, signal, bounds);
      return await check?.();
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Spoilt) rmSync(file, { force: true });
      if (error instanceof StartFault || isDiskFull(error)) throw error;
      failures = sizeOf(file) - before >= bounds.leastBytes ? 1 : failures + 1;
      if (failures >= bounds.tries)
        throw notFetched(from, `${errorText(error)} (${failures} tries in a row)`);
      await sleep(backOffMs({ firstMs: bounds.retryFirstMs, longestMs: Infinity }, failures), undefined, {
        signal,
      });
    }
  }
}

async function tryOnce(
  source: Source,
  file: string,
  signal: AbortSignal,
  bounds: DownloadBounds,
): Promise<void> {
  const watch = new Watch(bounds);
  const both = AbortSignal.any([signal, watch.signal]);
  const from = sizeOf(file);
  try {
    const { response, signed } = await openUrl(source, from, both);
    const at = await beginningOf(response, source, from, signed);
    if (at === "complete") return void response.destroy();
    if (at === undefined) {
      response.destroy();
      throw new Spoilt("the server does not go on where the download was interrupted");
    }
    const out = createWriteStream(file, { flags: at === 0 ? "w" : "a", mode: 0o600 });
    await pipeline(response, (body) => watch.count(body, at, source), out, { signal: both });
  } catch (error) {
    throw watch.signal.aborted && !signal.aborted ? watch.signal.reason : error;
  } finally {
    watch.end();
  }
}

/** Follows redirects. Resolves with an answer whose body is still to be read. */
async function openUrl(
  source: Source,
  from: number,
  signal: AbortSignal,
): Promise<{ response: IncomingMessage; signed?: SignedTry }> {
  let target = webUrl(source.url, source);
  const signed = source.sign?.(safeUrl(source.url).href);
  if (signed !== undefined) return { response: await get(target, from, signal, signed), signed };
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const response = await get(target, from, signal);
    const { location } = response.headers;
    if (!REDIRECTS.has(response.statusCode ?? 0) || location === undefined) return { response };
    response.destroy();
    target = webUrl(location, source, target);
  }
  throw notFetched(source, `it was redirected more than ${MAX_REDIRECTS} times`);
}

function webUrl(text: string, source: Source, base?: URL): URL {
  const target = URL.canParse(text, base?.href) ? new URL(text, base?.href) : undefined;
  if (target?.protocol === "http:" || target?.protocol === "https:") return target;
  throw notFetched(source, `${base === undefined ? "it" : "what it redirects to"} is no http or https URL`);
}

function get(target: URL, from: number, signal: AbortSignal, signed?: SignedTry): Promise<IncomingMessage> {
  const range = from === 0 ? {} : { range: `bytes=${from}-` };
  const headers = { "user-agent": "drover-agent", "accept-encoding": "identity", ...range };
  const secure = target.protocol === "https:";
  const options = {
    headers: { ...headers, ...signed?.headers },
    signal,
    agent: secure ? false : (signed?.agent ?? false),
  };
  return new Promise((resolve, reject) => {
    const call = secure ? tlsRequest(target, options, resolve) : plainRequest(target, options, resolve);
    call.on("error", reject).end();
  });
}

/** The offset at which the body of an answer begins; undefined if it does not fit to what is there. */
async function beginningOf(
  response: IncomingMessage,
  source: Source,
  from: number,
  signed: SignedTry | undefined,
): Promise<number | "complete" | undefined> {
  const { statusCode = 0, headers } = response;
  if (statusCode === 200) return 0;
  const range = headers["content-range"] ?? "";
  if (statusCode === 206) return range.startsWith(`bytes ${from}-`) ? from : undefined;
  if (statusCode === 416 && from > 0) return range === `bytes */${from}` ? "complete" : undefined;
  const text = `its server answers ${statusCode}`;
  const passing = statusCode >= 500 || PASSING.has(statusCode);
  const isFinal = !passing && (signed === undefined || signed.isFinal(await refusalIn(response)));
  response.destroy();
  throw isFinal ? notFetched(source, text) : new Interrupted(text);
}

/** An answer that is no download. What is longer than a refusal is none, and not read on. */
async function refusalIn(response: IncomingMessage): Promise<Answer> {
  const { statusCode: status = 0, headers } = response;
  let body = "";
  for await (const part of response) {
    body += part;
    if (body.length > MAX_REFUSAL_CHARS) break;
  }
  return { status, headers, body };
}

/** Sees to it that bytes come fast enough, and not too many of them. */
class Watch {
  readonly #stop = new AbortController();
  readonly #bounds: DownloadBounds;
  readonly #timer: NodeJS.Timeout;
  #seen = 0;
  #looked = 0;

  constructor(bounds: DownloadBounds) {
    this.#bounds = bounds;
    this.#timer = setInterval(() => this.#look(), bounds.slowMs);
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  async *count(body: AsyncIterable<Buffer>, from: number, source: Source): AsyncGenerator<Buffer> {
    const { bytes } = this.#bounds;
    for await (const chunk of body) {
      this.#seen += chunk.length;
      if (from + this.#seen > bytes) throw tooLarge(source, bytes);
      yield chunk;
    }
  }

  end(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const { leastBytes, slowMs } = this.#bounds;
    if (this.#seen - this.#looked < leastBytes) {
      const text = `its server is too slow: less than ${leastBytes} bytes in ${slowMs / 1_000} s`;
      this.#stop.abort(new Interrupted(text));
    }
    this.#looked = this.#seen;
  }
}

/** Of a signed source it is no word of the one who was asked: anybody may have sent it. */
function tooLarge(source: Source, bytes: number): Error {
  const text = `it is larger than ${bytes} bytes`;
  return source.sign === undefined ? notFetched(source, text) : new Spoilt(text);
}

function notFetched({ what, code }: Source, why: string): StartFault {
  return new StartFault(code, `${what} could not be fetched: ${why}.`, { recoverable: true });
}

/** A URL without what may be secret in it: name, password, query. */
export function shownUrl(url: string): string {
  if (!URL.canParse(url)) return JSON.stringify(url);
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
