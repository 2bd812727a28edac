// What has the console of a machine shown? Its provider is asked only when a reader asks (clouds.md#console).
import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { WorkerStatus } from "../../../src/generated/api.ts";
import { ask, callOf } from "../../api/send.ts";
import { curlOf, droverOf } from "../../parts/as-text.ts";
import { Command } from "../../parts/copy.tsx";
import { Long } from "../../parts/lists/scroll.tsx";
import { Trouble } from "../../parts/problem.tsx";
import { Moment } from "../../parts/time.tsx";
import { useLoad } from "../../store/load.ts";

/** A button that asks, and what it has brought. A self-hosted machine has no provider that could be asked. */
export function Console({ worker: { id, own, instance } }: { worker: WorkerStatus }) {
  const wanted = useMemo(() => signal(false), [id]);
  const path = { path: { id } };
  const loaded = useLoad({
    key: wanted.value ? id : undefined,
    isByHand: true,
    ask: (ending) => ask("getWorkerConsole", path, ending),
  });
  if (own || instance === null) return null;
  const show = () => {
    if (wanted.value) loaded.again();
    wanted.value = true;
  };
  const shown = loaded.value?.worker === id ? loaded.value : undefined;
  return (
    <section aria-label="Console">
      <h2>Console</h2>
      <p>
        <button type="button" onClick={show}>
          {wanted.value ? "Read again" : "Show console"}
        </button>
      </p>
      {wanted.value && <Trouble error={loaded.error} again={loaded.again} />}
      {shown && (
        <>
          <p>
            Read <Moment at={shown.readAt} />
            {shown.updatedAt !== null && (
              <>
                , and last changed <Moment at={shown.updatedAt} />
              </>
            )}
            .{shown.truncated && " What came before is left out."}
          </p>
          <Long label="The end of the console" text={shown.text} />
          <Command text={droverOf("console", id)} label="Copy" />
          <Command text={curlOf(callOf("getWorkerConsole", path), location.origin)} label="Copy" />
        </>
      )}
    </section>
  );
}
