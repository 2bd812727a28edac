// How is a socket proven and sealed? By a challenge, then by numbered frames (protocol.md#the-socket).
import {
  CHALLENGE,
  challengeIn,
  type Session,
  sealed,
  sessionKey,
  unsealed,
} from "../../src/signing/frame.ts";
import type { Key } from "../../src/signing/mac.ts";
import { type OpenSocket, openSocket, type SocketOptions } from "./socket.ts";

/**
 * Opens a socket and waits for the control plane's challenge. Any frame that is not the control plane's next
 * one is not read, and closes the socket. `signature` is that of the upgrade request.
 */
export async function openSealedSocket(
  key: Key,
  signature: string,
  options: SocketOptions,
): Promise<OpenSocket> {
  const { withinMs, frame: tell, closed } = options;
  let session: Session | undefined;
  let socket: OpenSocket | undefined;
  const { promise: challenged, resolve, reject } = withResolvers<Session>();
  const timer = setTimeout(() => fail("no challenge arrived"), withinMs);
  function fail(why: string): void {
    reject(new Error(`the socket is not from this host's control plane: ${why}`));
    socket?.hangUp();
  }
  const frame = (text: string) => {
    const body = session === undefined ? undefined : unsealed(session.key, "plane", session.awaited, text);
    if (session !== undefined && body !== undefined) {
      session.awaited += 1;
      tell(body);
    } else if (session === undefined) {
      session = sessionOf(key, signature, text);
      if (session === undefined) fail("its first frame is not a valid challenge");
      else resolve(session);
    } else fail("a frame is not the next one from the control plane");
  };
  // If the socket ends before the challenge, the opening fails with the reason.
  const ended = (code: number, reason: string) => {
    if (session === undefined) fail(reason || `it was closed (${code})`);
    else closed(code, reason);
  };
  try {
    socket = await openSocket({ ...options, frame, closed: ended });
    const ready = await challenged;
    const open = socket;
    return {
      send: (text) => {
        open.send(sealed(ready.key, "host", ready.next, text));
        ready.next += 1;
      },
      hangUp: () => open.hangUp(),
    };
  } catch (error) {
    socket?.hangUp();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** A promise that may be rejected before it is awaited. Node 20 has no `Promise.withResolvers`. */
function withResolvers<T>() {
  let resolve: (value: T) => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<T>((...both) => {
    [resolve, reject] = both;
  });
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}

/** The session that a challenge starts; undefined unless its sender has the key. */
function sessionOf(key: Key, signature: string, frame: string): Session | undefined {
  const challenge = challengeIn(frame);
  if (challenge === undefined) return undefined;
  const made = sessionKey(key, signature, challenge);
  if (unsealed(made, "plane", CHALLENGE, frame) === undefined) return undefined;
  return { key: made, next: 0, awaited: CHALLENGE + 1 };
}
