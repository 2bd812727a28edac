// The last lines of a task's output.
import type { RunStatus } from "../../src/generated/api.ts";
import { isTerminal } from "../../src/shared/run-state.ts";
import { callOf, send } from "../api/send.ts";
import { Nothing, Settled, Trouble } from "../parts/problem.tsx";
import { Long } from "../parts/scroll.tsx";
import { queryOf, withQuery } from "../router/place.ts";
import { useLoad } from "../store/load.ts";

const TAIL = "64KiB";
const EVERY_MS = 2_000;

/** The output of one task, attempt and stream, as the address names them (ui.md#d4). */
export function LogView({ run }: { run: RunStatus }) {
  const task = queryOf("task") || run.tasks[0]?.name || "main";
  const stream = queryOf("stream") === "stderr" ? "stderr" : "stdout";
  const attempt = queryOf("attempt");
  const text = useLoad({
    key: [run.id, task, attempt, stream].join(" "),
    version: run.version,
    everyMs: isTerminal(run.state) ? undefined : EVERY_MS,
    ask: async (signal) => {
      const path = { id: run.id, task, stream } as const;
      const query = { tail: TAIL, attempt: attempt || undefined };
      return await (await send(callOf("getRunLog", { path, query }, { signal }))).text();
    },
  });
  return (
    <>
      <nav class="tabs" aria-label="Streams">
        {["stdout", "stderr"].map((one) => (
          <a
            key={one}
            href={withQuery({ tab: "log", stream: one })}
            aria-current={one === stream ? "page" : undefined}
          >
            {one}
          </a>
        ))}
      </nav>
      <Trouble error={text.error} again={text.again} />
      <Settled isStale={text.isStale}>
        {text.value === "" && <Nothing why={`${task} has written nothing to ${stream}.`} />}
        {text.value && <Long label={`${stream} of ${task}`} text={text.value} />}
      </Settled>
    </>
  );
}
