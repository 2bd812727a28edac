// How does the agent download a file, resume an interrupted download, and give up a slow download?
import { createWriteStream, rmSync, statSync } from "node:fs";
import { type IncomingMessage, type Agent as PlainAgent, request as plainRequest } from "node:http";
import { request as tlsRequest } from "node:https";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { isDiskFull } from "../../../posix/errors.ts";
import type { Millis } from "../../../src/shared/machine.ts";
import { backOffMs } from "../../../src/shared/time/backoff.ts";
import { errorText } from "../../../src/shared/words.ts";
import { type Answer, readAnswer } from "../../plane/http.ts";
import { safeUrl } from "../../plane/safe-url.ts";
import { StartFault } from "../start-fault.ts";

const MAX_REDIRECTS = 10;

// Uses `node:http` instead of `fetch`: see `plane/http.ts`.

/** A file to download. */
export interface Source {
  url: string;
  /** The beginning of a fault's text (`The artifact …`), and the code of the fault. */
  what: string;
  code: "artifact_failed" | "snapshot_failed";
  /** The digest of the content, in hex. */
  sha256: string;
  /** Signs one try. Absent: the source is public, and redirects are followed. */
  sign?: (url: string) => SignedTry;
}

/** The signature of one try. */
export interface SignedTry {
  headers: Record<string, string>;
  /** Opens the connections for `http:`, where no certificate proves the server. */
  agent: PlainAgent;
  /** Whether a refusal is final: the control plane has signed it, and would also refuse a retry. */
  isFinal(answer: Answer): boolean;
}

/** Limits of a download; tests use smaller ones. */
export interface DownloadBounds {
  /** The largest size of the file: its source may be endless. */
  bytes: number;
  /** A try that brings less than `leastBytes` in this time has failed. */
  slowMs: Millis;
  leastBytes: number;
  /** A download is given up after this many tries in a row that brought less than `leastBytes`. */
  tries: number;
  /** The wait before the second try. It doubles with each further try. */
  retryFirstMs: Millis;
}

export const DOWNLOAD_BOUNDS: DownloadBounds = {
  bytes: 16 * 1024 ** 3,
  slowMs: 60_000,
  leastBytes: 64 * 1024,
  tries: 5,
  retryFirstMs: 500,
};

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Refusals that are temporary, besides all statuses from 500 on. */
const TEMPORARY = new Set([408, 425, 429]);

/** The largest refusal of a control plane. */
const MAX_REFUSAL_BYTES = 64 * 1024;

/** A try has ended before the file was complete. The next try resumes where this try ended. */
class Interrupted extends Error {}

/** The file has the wrong content. The next try starts from the first byte. */
export class WrongContent extends Interrupted {}

/**
 * Downloads into a file, and continues after the bytes that are already there. An interrupted try is repeated
 * after a growing wait, until several tries in a row have brought almost nothing. `check` verifies the whole
 * content, and may throw `WrongContent`. Rejects with a `StartFault`, the system's error if the disk is full,
 * or the reason of the signal.
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
      if (error instanceof WrongContent) rmSync(file, { force: true });
      if (error instanceof StartFault || isDiskFull(error)) throw error;
      failures = sizeOf(file) - before >= bounds.leastBytes ? 1 : failures + 1;
      if (failures >= bounds.tries)
        throw fetchFault(from, `${errorText(error)} (${failures} tries in a row)`);
      const waitMs = backOffMs({ firstMs: bounds.retryFirstMs, longestMs: Infinity }, failures);
      await sleep(waitMs, undefined, { signal });
    }
  }
}

async function tryOnce(
  source: Source,
  file: string,
  signal: AbortSignal,
  bounds: DownloadBounds,
): Promise<void> {
  const { leastBytes, slowMs } = bounds;
  const stop = new AbortController();
  let newBytes = 0;
  const watch = setInterval(() => {
    const text = `its server is too slow: less than ${leastBytes} bytes in ${slowMs / 1_000} s`;
    if (newBytes < leastBytes) stop.abort(new Interrupted(text));
    newBytes = 0;
  }, slowMs);
  const both = AbortSignal.any([signal, stop.signal]);
  const from = sizeOf(file);
  try {
    const { response, signed } = await openUrl(source, from, both);
    const at = await offsetOf(response, source, from, signed);
    if (at === "complete") return void response.destroy();
    if (at === undefined) {
      response.destroy();
      throw new WrongContent("the server does not resume where the download was interrupted");
    }
    let size = at;
    const counted = async function* (body: AsyncIterable<Buffer>) {
      for await (const chunk of body) {
        newBytes += chunk.length;
        size += chunk.length;
        if (size > bounds.bytes) throw tooLarge(source, bounds.bytes);
        yield chunk;
      }
    };
    const out = createWriteStream(file, { flags: at === 0 ? "w" : "a", mode: 0o600 });
    await pipeline(response, counted, out, { signal: both });
  } catch (error) {
    throw stop.signal.aborted && !signal.aborted ? stop.signal.reason : error;
  } finally {
    clearInterval(watch);
  }
}

/**
 * Follows redirects, unless the source is signed. Resolves with an answer whose body has not been read yet.
 */
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
  throw fetchFault(source, `it was redirected more than ${MAX_REDIRECTS} times`);
}

function webUrl(text: string, source: Source, base?: URL): URL {
  const target = URL.canParse(text, base?.href) ? new URL(text, base?.href) : undefined;
  if (target?.protocol === "http:" || target?.protocol === "https:") return target;
  throw fetchFault(source, `${base === undefined ? "it" : "its redirect"} is not an http or https URL`);
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

/**
 * The offset at which the body of an answer begins. `complete`: the file has all bytes already. Undefined:
 * the body cannot be appended to the file.
 */
async function offsetOf(
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
  const isTemporary = statusCode >= 500 || TEMPORARY.has(statusCode);
  const isFinal =
    !isTemporary && (signed === undefined || signed.isFinal(await readAnswer(response, MAX_REFUSAL_BYTES)));
  response.destroy();
  throw isFinal ? fetchFault(source, text) : new Interrupted(text);
}

/**
 * The error for a file that is too large. For a signed source a retry may help: only requests are signed, so
 * another program may have sent the body.
 */
function tooLarge(source: Source, bytes: number): Error {
  const text = `it is larger than ${bytes} bytes`;
  return source.sign === undefined ? fetchFault(source, text) : new WrongContent(text);
}

function fetchFault({ what, code }: Source, why: string): StartFault {
  return new StartFault(code, `${what} could not be fetched: ${why}.`, { recoverable: true });
}

/** A URL for texts, without the parts that may be secret: user name, password and query. */
export function shownUrl(url: string): string {
  if (!URL.canParse(url)) return JSON.stringify(url);
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
