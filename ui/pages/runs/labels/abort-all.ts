// How does a reader end everything with a label (ui.md#d19)?
import type { AbortedList } from "../../../../src/generated/api.ts";
import { callOf, send } from "../../../api/send.ts";
import type { Action } from "../../../parts/acts/act.tsx";
import { droverOf } from "../../../parts/as-text.ts";
import { IncompleteError } from "../../../parts/unsure.ts";
import type { Filter } from "../filter.ts";
import { leftOf } from "./left-of.ts";

/** Ends every live run with these labels, in as many requests as it takes. Other filters do not apply. */
export function abortAll(labels: Record<string, string>, { pool }: Filter, again: () => void): Action {
  const words = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  const where = pool === "" ? "" : ` in the pool ${pool}`;
  const callFrom = (cursor: string | undefined) => {
    const body = {
      labels,
      states: ["pending" as const, "running" as const],
      pool: pool || undefined,
      cursor,
    };
    return callOf("abortRuns", { body }, { repeatable: true });
  };
  return {
    verb: "Abort all",
    question: `Abort every run with ${words.join(", ")}${where}?`,
    effect:
      "Runs that wait never start. Runs that run get their kill signal, and end once their machine says " +
      "so. Other filters of the list do not apply.",
    ends: true,
    scope: "runs:write",
    call: () => callFrom(undefined),
    drover: droverOf(
      "abort",
      ...words.flatMap((word) => ["--label", word]),
      ...(pool ? ["--pool", pool] : []),
    ),
    async done(response, ending) {
      const left: string[] = [];
      for (let answer = response; ; ) {
        // The answer is made by the schema of this route.
        const part = (await answer.json()) as AbortedList;
        const { next } = part;
        left.push(...leftOf(part));
        if (next === null) break;
        ending.throwIfAborted();
        answer = await send(callFrom(next));
      }
      again();
      if (left.length > 0) throw new IncompleteError(left);
    },
  };
}
