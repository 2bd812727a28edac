// How does a reader have a parked run run again (retry.md#redrive)?
import type { RunStatus } from "../../../../src/generated/api.ts";
import { callOf } from "../../../api/send.ts";
import type { Action } from "../../../parts/acts/act.tsx";
import { droverOf } from "../../../parts/as-text.ts";
import { go, itemHref } from "../../../router/place.ts";

/** The action of a parked run; none for any other run. */
export function redriveOf({ id, parked }: Pick<RunStatus, "id" | "parked">): Action[] {
  if (parked === undefined) return [];
  return [
    {
      verb: "Redrive",
      question: `Redrive ${id}?`,
      effect:
        "It runs again with the same spec, as another run, and is parked no more. However often this is " +
        "asked for, there is one such run.",
      ends: false,
      scope: "runs:write",
      call: () => callOf("redriveRun", { path: { id } }, { repeatable: true }),
      drover: droverOf("redrive", id),
      async done(response, ending) {
        // The answer is made by the schema of this route.
        const run = (await response.json()) as RunStatus;
        ending.throwIfAborted();
        go(itemHref("runs", run.id));
      },
    },
  ];
}
