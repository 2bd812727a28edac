// Who is signed in, and how does a session of the page begin and end (ui.md#security)?
import { signal } from "@preact/signals";
import type { Caller, Scope } from "../../src/generated/api.ts";
import { ask, send, whenSignedOut } from "./send.ts";

/** Whether somebody is signed in. `out` says why, if a session has ended. */
type Session =
  | { is: "starting" }
  | { is: "in"; caller: Caller }
  | { is: "out"; why: string | undefined }
  | { is: "broken"; error: unknown };

/** The session of this page. */
export const session = signal<Session>({ is: "starting" });

const PATH = "/ui/session";
const CODE = /^#code=([\w]+)$/;

/** Starts or finds the session: a code in the fragment starts one, and else there may be a cookie. */
export async function openSession(): Promise<void> {
  whenSignedOut((why) => {
    if (session.peek().is !== "starting") session.value = { is: "out", why };
  });
  const code = CODE.exec(location.hash)?.[1];
  if (code === undefined) return await look();
  // The code leaves the address before anything else happens.
  history.replaceState(null, "", location.pathname + location.search);
  try {
    await signIn({ code });
  } catch (error) {
    session.value = { is: "out", why: String(error instanceof Error ? error.message : error) };
  }
}

/** Signs in by a code or a token; the answer sets the cookie. Rejects if Drover refuses. */
export async function signIn(by: { code: string } | { token: string }): Promise<void> {
  await send({ method: "POST", path: PATH, body: by, repeatable: false });
  await look();
}

/** Ends the session. */
export async function signOut(): Promise<void> {
  await send({ method: "DELETE", path: PATH, repeatable: true });
  session.value = { is: "out", why: undefined };
}

/** Whether the caller may do what needs this scope. The server decides; the page only hides. */
export function may(scope: Scope): boolean {
  const now = session.value;
  return now.is === "in" && (now.caller.scopes.includes("admin") || now.caller.scopes.includes(scope));
}

async function look(): Promise<void> {
  const isFirst = session.peek().is === "starting";
  try {
    session.value = { is: "in", caller: await ask("getCaller", {}) };
  } catch (error) {
    // Without a cookie there was no session, so there is nothing to say about its end.
    const isRefused = Object(error).status === 401;
    session.value = isRefused
      ? { is: "out", why: isFirst ? undefined : String(Object(error).detail) }
      : { is: "broken", error };
  }
}
