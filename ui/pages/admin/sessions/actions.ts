// What can a reader do about browser sessions: end one (sessions.md#life)?
import type { Session } from "../../../../src/generated/api.ts";
import { callOf } from "../../../api/send.ts";
import type { Action } from "../../../parts/acts/act.tsx";
import { droverOf } from "../../../parts/as-text.ts";
import { go } from "../../../router/place.ts";

/** Signs a browser out. `isOwn`: its reader has the same token, so it may be this very browser. */
export function endingOf({ id, name }: Session, isOwn: boolean, again: () => void): Action {
  const own = isOwn ? " You act for it, too: if this is your session, you are signed out." : "";
  return {
    verb: "End session",
    question: `End the session ${id} of ${name}?`,
    effect:
      "Its browser is refused everywhere within 30 s. What it has started goes on, and the token stays " +
      `valid.${own}`,
    ends: true,
    scope: "tokens:write",
    call: () => callOf("endSession", { path: { id } }),
    drover: droverOf("sessions", "end", id),
    done() {
      go("/ui/admin/sessions");
      again();
    },
  };
}
