// How does somebody sign in? By a token that is sent once and kept nowhere (ui.md#security).
import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { signIn } from "../api/session.ts";
import { wordsOf } from "../parts/problem.tsx";

/** The sign-in. `why`: what ended the session. */
export function Outside({ why }: { why: string | undefined }) {
  const fault = useMemo(() => signal<unknown>(undefined), []);
  const isSent = useMemo(() => signal(false), []);
  const submit = async (form: HTMLFormElement) => {
    const token = String(new FormData(form).get("token") ?? "").trim();
    form.reset();
    isSent.value = true;
    fault.value = undefined;
    try {
      await signIn({ token });
    } catch (error) {
      fault.value = error;
    } finally {
      isSent.value = false;
    }
  };
  const shown = fault.value === undefined ? why : wordsOf(fault.value).what;
  return (
    <main class="sign-in">
      <h1>Drover</h1>
      {shown !== undefined && <p role="alert">{shown}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit(event.currentTarget);
        }}
      >
        <label for="token">Token</label>
        <input id="token" name="token" type="password" autocomplete="off" required />
        <button type="submit" class="main" disabled={isSent.value}>
          Sign in
        </button>
      </form>
      <p>
        Or type <code>drover ui</code> in a terminal: it signs this browser in. The token of a local Drover is
        in <code>.drover/context.json</code>, where <code>drover up</code> runs.
      </p>
      <p>The page does not keep the token. The browser keeps a cookie, for 12 hours after its last use.</p>
    </main>
  );
}
