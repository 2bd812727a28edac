// What does the page say when something went wrong? What happened, why, and what to do next.
import type { ComponentChildren } from "preact";
import { ApiError, UnreachableError } from "../api/send.ts";
import { IncompleteError, UnawaitedError } from "./unsure.ts";

/** An error in words, with a button that tries again. */
export function Trouble({ error, again }: { error: unknown; again?: (() => void) | undefined }) {
  if (error === undefined) return null;
  const { what, todo } = wordsOf(error);
  return (
    <div class="trouble" role="alert">
      <p>{what}</p>
      <p>{todo}</p>
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

/** What happened, and what to do about it. */
export function wordsOf(error: unknown): { what: string; todo: string } {
  if (error instanceof UnreachableError) {
    return {
      what: `Drover does not answer: ${error.reason}.`,
      todo: "What is shown here may be old. The page tries again by itself.",
    };
  }
  if (error instanceof ApiError) {
    return { what: `${error.detail}.`, todo: adviceOf(error) };
  }
  if (error instanceof IncompleteError)
    return { what: `${error.message}.`, todo: "Do it again: what is done already stays as it is." };
  if (error instanceof UnawaitedError)
    return { what: `${error.message}.`, todo: "Look whether it has happened before you do it again." };
  return { what: String(error), todo: "This is a fault of the page. Load it again, and please report it." };
}

function adviceOf({ code, status, temporary, instance }: ApiError): string {
  switch (code) {
    case "missing_scope":
    case "beyond_limits":
      return "Your token may not do this. Ask who manages the tokens of this Drover for the scope.";
    case "unknown_run":
    case "unknown_pool":
    case "unknown_worker":
      return "Check the name in the address. What has ended long ago is not kept.";
    case "unknown_job":
    case "unknown_token":
    case "unknown_secret":
    case "unknown_project":
    case "unknown_webhook":
    case "unknown_delivery":
    case "unknown_trust_rule":
      return "Somebody may have deleted it meanwhile. The list says what is there.";
    case "expired_run":
      return "It has ended, and is not kept any more. The pool's retention says how long runs are kept.";
    case "expired_logs":
      return "The pool's retention says how long output is kept.";
    case "unauthorized":
      return "Sign in again.";
    default:
      if (temporary) return "The page tries again by itself.";
      return status < 500 ? "Correct it, and try again." : `The log of Drover has it as ${instance}.`;
  }
}

/** What stands where nothing is: why, and what to type to change it. */
export function Nothing({ why, type }: { why: string; type?: string | undefined }) {
  return (
    <div class="nothing">
      <p>{why}</p>
      {type && (
        <p>
          Type <code>{type}</code>
        </p>
      )}
    </div>
  );
}

/** Content that stays while newer content is asked for, dimmed if it answers an earlier question. */
export function Settled({ isStale, children }: { isStale: boolean; children: ComponentChildren }) {
  return (
    <div class={isStale ? "stale" : ""} aria-busy={isStale}>
      {children}
    </div>
  );
}
