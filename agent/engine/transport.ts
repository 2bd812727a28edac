// How does the agent send a request to a unix socket, and what comes back?
import { lstatSync } from "node:fs";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { errorCode } from "../../posix/errors.ts";
import { errorText } from "../../src/shared/words.ts";
import { textOf } from "./answers/read.ts";
import { EngineError, type EngineErrorKind } from "./errors.ts";

/** The largest answer that is read whole: a list of ten thousand containers fits. */
export const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

/** How much of an answer that makes no sense is shown. */
const SHOWN_CHARS = 200;

/** The longest text of an engine that is passed on. */
const MAX_SAID_CHARS = 2_000;

/** One request. */
export interface Ask {
  /** What is asked for, to be read after "The engine could not": `start the container 3f2a`. */
  what: string;
  method: "GET" | "POST" | "DELETE";
  /** With version and query. */
  path: string;
  headers?: Readonly<Record<string, string>> | undefined;
  /** Sent as JSON. */
  body?: unknown;
  signal?: AbortSignal | undefined;
  /** Undefined: the answer may take as long as it takes, and the request keeps no process alive. */
  timeoutMs: number | undefined;
}

/** Statuses that are no error. */
const isFine = (status: number) => status < 400;

/** Sends a request. Resolves with the start of the answer. Rejects for an answer that is an error. */
export async function ask(socketPath: string, ask: Ask): Promise<IncomingMessage> {
  const response = await sent(socketPath, ask);
  const status = response.statusCode ?? 0;
  if (isFine(status)) return response;
  throw refusal(ask, status, await bodyOf(ask, response));
}

/** Sends a request, and reads the whole answer as JSON; undefined: it is empty. */
export async function askJson(socketPath: string, one: Ask): Promise<unknown> {
  const body = await bodyOf(one, await ask(socketPath, one));
  if (body.trim() === "") return undefined;
  try {
    return JSON.parse(body);
  } catch {
    throw new EngineError("not_engine", `${refusedText(one)} its answer is no JSON: ${shown(body)}`);
  }
}

/** Sends a request whose answer does not matter. */
export async function askNothing(socketPath: string, one: Ask): Promise<void> {
  await bodyOf(one, await ask(socketPath, one));
}

/** Passes an answer on as it comes. Throws `cut` if it ends before its end. */
export async function* piecesOf(one: Ask, response: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    for await (const piece of response) yield piece;
  } catch (error) {
    throw faultOf(one, error);
  } finally {
    response.destroy();
  }
}

/** The request itself, with its time limit, without a kept connection. */
export function open(socketPath: string, one: Ask): ClientRequest {
  const { method, path, signal, timeoutMs } = one;
  const json = one.body === undefined ? undefined : JSON.stringify(one.body);
  const content =
    json === undefined
      ? {}
      : { "content-type": "application/json", "content-length": String(Buffer.byteLength(json)) };
  const headers = { host: "engine", ...content, ...one.headers };
  const call = request({ socketPath, method, path, headers, agent: false, ...(signal && { signal }) });
  if (timeoutMs === undefined) call.on("socket", (socket) => socket.unref());
  else {
    let answer: IncomingMessage | undefined;
    call.on("response", (response) => {
      answer = response;
    });
    // Who reads the answer learns of the error by the answer alone.
    const timer = setTimeout(() => (answer ?? call).destroy(new TimedOut(timeoutMs)), timeoutMs);
    call.on("close", () => clearTimeout(timer));
  }
  call.end(json);
  return call;
}

/** The error of a request that had no answer, or half of one. */
export function faultOf(one: Ask, error: unknown, socketPath?: string): EngineError {
  if (error instanceof EngineError) return error;
  if (one.signal?.aborted === true) {
    return new EngineError("aborted", `${refusedText(one)} it was told to stop.`);
  }
  if (error instanceof TimedOut) {
    return new EngineError("timeout", `${refusedText(one)} it has not answered for ${error.ms / 1_000} s.`);
  }
  const code = errorCode(error) ?? "";
  const at = socketPath === undefined ? "" : ` at ${socketPath}`;
  const reason = `${refusedText(one)} ${troubleText(code, at, socketPath) ?? `${errorText(error)}.`}`;
  return new EngineError(kindOf(code), reason);
}

/** The error for an answer that says no. */
export function refusal(one: Ask, status: number, body: string): EngineError {
  const said = saidIn(body).slice(0, MAX_SAID_CHARS);
  const text = `${refusedText(one)} ${said || shown(body)} (status ${status})`;
  return new EngineError(kindOfStatus(status), text, { status, said });
}

/** Reads a whole answer as text. */
export async function bodyOf(one: Ask, response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of piecesOf(one, response)) {
    bytes += part.length;
    if (bytes > MAX_ANSWER_BYTES) {
      const most = `${MAX_ANSWER_BYTES / 1024 / 1024} MiB`;
      throw new EngineError("not_engine", `${refusedText(one)} its answer is larger than ${most}.`);
    }
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

class TimedOut extends Error {
  readonly ms: number;
  constructor(ms: number) {
    super("timed out");
    this.ms = ms;
  }
}

function sent(socketPath: string, one: Ask): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const call = open(socketPath, one);
    call.on("response", resolve);
    call.on("error", (error) => reject(faultOf(one, error, socketPath)));
  });
}

function refusedText({ what }: Ask): string {
  return `The container engine could not ${what}:`;
}

/** Engines put their reason into `message`; podman its causes also into `cause`. */
function saidIn(body: string): string {
  try {
    return textOf(JSON.parse(body), "message").trim();
  } catch {
    return "";
  }
}

function shown(body: string): string {
  const text = body.trim().slice(0, SHOWN_CHARS);
  return text === "" ? "it gave no reason" : JSON.stringify(text);
}

function kindOfStatus(status: number): EngineErrorKind {
  if (status === 404) return "not_found";
  if (status === 409) return "conflict";
  return status < 500 ? "refused" : "server";
}

function kindOf(code: string): EngineErrorKind {
  if (code === "EACCES" || code === "EPERM") return "denied";
  if (["ENOENT", "ECONNREFUSED", "ENOTSOCK", "EINVAL", "ENOTDIR", "EAGAIN"].includes(code))
    return "unreachable";
  return code.startsWith("HPE_") ? "not_engine" : "cut";
}

/** What is wrong at the socket, and what to do. */
function troubleText(code: string, at: string, socketPath: string | undefined): string | undefined {
  switch (code) {
    case "ENOENT":
    case "ENOTDIR":
      return `there is no socket${at}. Start the engine, or name its socket.`;
    case "ENOTSOCK":
    case "ECONNREFUSED":
      return isSocket(socketPath)
        ? `nobody listens${at}. Start the engine.`
        : `what is${at} is no socket. Name the socket of the engine.`;
    case "EACCES":
    case "EPERM":
      return `the agent has no right to open the socket${at}. Start the agent as root.`;
    case "EINVAL":
      return `the system does not accept the path of the socket${at}: it may be too long.`;
    case "EAGAIN":
      return `too many requests wait for the engine${at}.`;
    case "ECONNRESET":
    case "EPIPE":
      return "the connection ended in the middle. The engine may have been stopped.";
    default:
      return code.startsWith("HPE_") ? `what answers${at} does not speak HTTP.` : undefined;
  }
}

function isSocket(path: string | undefined): boolean {
  try {
    return path === undefined || lstatSync(path).isSocket() || lstatSync(path).isSymbolicLink();
  } catch {
    return true;
  }
}

/** The text behind the `?` of a path. */
export function query(values: Record<string, string>): string {
  return new URLSearchParams(values).toString();
}

/** Slashes and colons of an image's name stand in paths as they are. */
export function inPath(reference: string): string {
  return encodeURIComponent(reference).replaceAll("%2F", "/").replaceAll("%3A", ":").replaceAll("%40", "@");
}
