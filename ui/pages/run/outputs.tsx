// What has a run left to fetch? Its result, by a click and by a command (ui.md#d20).
import type { RunStatus } from "../../../src/generated/api.ts";
import { formatSize } from "../../../src/shared/size.ts";
import { callOf, send } from "../../api/send.ts";
import { curlOf, droverOf } from "../../parts/as-text.ts";
import { Command } from "../../parts/copy.tsx";
import { Trouble } from "../../parts/problem.tsx";
import { useLoad } from "../../store/load.ts";

/** The result of a run, or why there is none. Nothing for a run that was submitted without outputs. */
export function Outputs({ run }: { run: RunStatus }) {
  const wanted = run.spec.outputs;
  if (wanted === undefined) return null;
  const names = Array.isArray(wanted) ? wanted.join(", ") : String(wanted);
  return (
    <section aria-label="Result">
      <h2>Result</h2>
      <p>
        Asked for: <code>{names}</code>
      </p>
      {run.snapshot ? <Result id={run.id} snapshot={run.snapshot} /> : <p>{whyNone(run)}</p>}
    </section>
  );
}

function whyNone({ state, failure }: RunStatus): string {
  if (failure?.code === "outputs_failed") return failure.text;
  if (state === "pending" || state === "running") return "It is there once the command has ended by itself.";
  return "There is none: the command did not end by itself, or left nothing.";
}

function Result({ id, snapshot }: { id: string; snapshot: string }) {
  const call = callOf("getSnapshot", { path: { snapshot } });
  const size = useLoad({
    key: snapshot,
    ask: async (signal) => {
      const answer = await send({ ...call, method: "HEAD", signal });
      return Number(answer.headers.get("content-length"));
    },
  });
  return (
    <>
      <Trouble error={size.error} again={size.again} />
      <p>
        <a href={call.path} download={`${id}.tar`}>
          Download the archive
        </a>
        {size.value !== undefined && ` (${formatSize(size.value)})`}
      </p>
      <Command text={droverOf("pull", id)} label="Copy" />
      <Command text={`${curlOf(call, location.origin)} -o ${id}.tar`} label="Copy" />
    </>
  );
}
