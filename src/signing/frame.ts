// How are frames on a host's socket sealed? Each frame has a number, and is signed with its socket's key.
import { isSame, type Key, keyOf, mac, type ReadyKey } from "./mac.ts";

/** The sender of a frame. */
export type Speaker = "host" | "plane";

/** The number of the control plane's first frame, whose body is the challenge. */
export const CHALLENGE = 0;

/** The key of a socket: base64, or ready for use. */
export type FrameKey = string | ReadyKey;

/** One end of a socket: its key, and the numbers of the next frames. */
export interface Session {
  /** Base64. */
  key: string;
  /** The number of the next frame to send. */
  next: number;
  /** The number of the next frame to receive. */
  awaited: number;
}

const FRAME = /^(0|[1-9]\d{0,15}) ([A-Za-z0-9+/]{43}=)\n/;
/** The longest valid first line. */
const MAX_LINE_CHARS = 62;

/**
 * The key of one socket, in base64, derived from the host's secret, the signature of the upgrade request, and
 * the control plane's challenge, which is different for each socket.
 */
export function sessionKey(secret: Key, signature: string, challenge: string): string {
  return mac(secret, "drover-socket\n", signature, "\n", challenge);
}

/** Makes a frame: a line with its number and HMAC, then the body. */
export function sealed(key: FrameKey, speaker: Speaker, number: number, body: string): string {
  return `${number} ${frameMac(key, speaker, number, body)}\n${body}`;
}

/** The body of a frame; undefined unless it has this number, and this sender sealed it for this socket. */
export function unsealed(key: FrameKey, speaker: Speaker, number: number, frame: string): string | undefined {
  const [line = "", numberText, signature = ""] = FRAME.exec(frame.slice(0, MAX_LINE_CHARS)) ?? [];
  if (numberText !== String(number)) return undefined;
  const body = frame.slice(line.length);
  return isSame(frameMac(key, speaker, number, body), signature) ? body : undefined;
}

/** The challenge in the control plane's first frame, read before there is a key to verify it with. */
export function challengeIn(frame: string): string | undefined {
  const line = FRAME.exec(frame.slice(0, MAX_LINE_CHARS))?.[0];
  const challenge = line === undefined ? "" : frame.slice(line.length);
  return /^[A-Za-z0-9+/]{43}=$/.test(challenge) ? challenge : undefined;
}

function frameMac(key: FrameKey, speaker: Speaker, number: number, body: string): string {
  return mac(typeof key === "string" ? keyOf(key) : key, `${speaker}\n${number}\n`, body);
}
