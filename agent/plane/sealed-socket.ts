// How is a socket proven and sealed? By a challenge, then by numbered frames (protocol.md#the-socket).
import {
  CHALLENGE,
  challengeIn,
  type Session,
  sealed,
  sessionKey,
  unsealed,
} from "../../src/signing/frame.ts";
import { type Key, keyOf, type ReadyKey, readyKey } from "../../src/signing/mac.ts";
import { type OpenSocket, openSocket, type SocketOptions } from "./socket.ts";

/**
 * Opens a socket and waits for the control plane's challenge. A frame that is not the control plane's next
 * frame is ignored, and closes the socket. `signature`: the signature of the upgrade request.
 */
export function openSealedSocket(key: Key, signature: string, options: SocketOptions): Promise<OpenSocket> {
  const { withinMs, frame: tell, closed } = options;
  let session: LiveSession | undefined;
  let socket: OpenSocket | undefined;
  let hasFailed = false;
  return new Promise((resolve, reject) => {
    const fail = (why: string) => {
      clearTimeout(timer);
      hasFailed = true;
      reject(new Error(`the socket is not from this host's control plane: ${why}`));
      socket?.hangUp();
    };
    const timer = setTimeout(() => fail("no challenge arrived"), withinMs);
    const begin = (challenge: string) => {
      const begun = sessionOf(key, signature, challenge);
      if (begun === undefined) return fail("its first frame is not a valid challenge");
      clearTimeout(timer);
      session = begun;
      const send = (text: string) => {
        socket?.send(sealed(begun.key, "host", begun.next, text));
        begun.next += 1;
      };
      resolve({ send, hangUp: () => socket?.hangUp() });
    };
    const frame = (text: string) => {
      if (session === undefined) return hasFailed ? undefined : begin(text);
      const body = unsealed(session.key, "plane", session.awaited, text);
      if (body === undefined) return fail("a frame is not the next one from the control plane");
      session.awaited += 1;
      tell(body);
    };
    // If the socket ends before the challenge, the opening fails with the reason.
    const ended = (code: number, reason: string) => {
      if (session === undefined) fail(reason || `it was closed (${code})`);
      else closed(code, reason);
    };
    openSocket({ ...options, frame, closed: ended }).then(
      (opened) => {
        socket = opened;
        if (hasFailed) opened.hangUp();
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}

/** A session whose key is used for each frame. */
type LiveSession = Omit<Session, "key"> & { key: ReadyKey };

/** The session that a challenge starts; undefined unless its sender has the key. */
function sessionOf(key: Key, signature: string, frame: string): LiveSession | undefined {
  const challenge = challengeIn(frame);
  if (challenge === undefined) return undefined;
  const made = sessionKey(key, signature, challenge);
  if (unsealed(made, "plane", CHALLENGE, frame) === undefined) return undefined;
  return { key: readyKey(keyOf(made)), next: 0, awaited: CHALLENGE + 1 };
}
