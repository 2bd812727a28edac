import { isSame, type Key, keyOf, mac } from "./mac.ts";

/** Who says a frame. */
export type Speaker = "host" | "plane";

/** The number of the first frame of the control plane, whose body is the challenge. */
export const CHALLENGE = 0;

/** One end of a socket: the key of this socket, and the numbers of the frames that come next. */
export interface Session {
  /** Base64. */
  key: string;
  /** What this end says next. */
  next: number;
  /** What it hears next. */
  awaited: number;
}

const FRAME = /^(0|[1-9]\d{0,15}) ([A-Za-z0-9+/]{43}=)\n/;
/** No first line is longer. */
const MAX_LINE_CHARS = 62;

/**
 * The key of one socket, in base64: of the host's secret, the signature of the request for the socket, and
 * the
 * challenge of the control plane, which makes it another one each time.
 */
export function sessionKey(secret: Key, signature: string, challenge: string): string {
  return mac(secret, "drover-socket\n", signature, "\n", challenge);
}

/** A frame: its number and HMAC in a line of their own, then what is said. */
export function sealed(key: string, speaker: Speaker, number: number, body: string): string {
  return `${number} ${frameMac(key, speaker, number, body)}\n${body}`;
}

/** What a frame says; undefined unless it is the one of this number, by this speaker, on this socket. */
export function unsealed(key: string, speaker: Speaker, number: number, frame: string): string | undefined {
  const [line = "", said, signature = ""] = FRAME.exec(frame.slice(0, MAX_LINE_CHARS)) ?? [];
  if (said !== String(number)) return undefined;
  const body = frame.slice(line.length);
  return isSame(frameMac(key, speaker, number, body), signature) ? body : undefined;
}

/** The challenge in the first frame of a control plane, before the key that it makes is known. */
export function challengeIn(frame: string): string | undefined {
  const line = FRAME.exec(frame.slice(0, MAX_LINE_CHARS))?.[0];
  const challenge = line === undefined ? "" : frame.slice(line.length);
  return /^[A-Za-z0-9+/]{43}=$/.test(challenge) ? challenge : undefined;
}

function frameMac(key: string, speaker: Speaker, number: number, body: string): string {
  return mac(keyOf(key), `${speaker}\n${number}\n`, body);
}
