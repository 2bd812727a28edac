// How does an act on many runs go? It is asked, sent run by run, stopped if the reader wants, and told.
import { useEffect, useMemo, useRef } from "preact/hooks";
import { send } from "../../../api/send.ts";
import { filterOf } from "../filter.ts";
import { select, selectionOf } from "../selection.ts";
import type { BulkAct } from "./bulk-acts.ts";
import { doEach } from "./each.ts";
import type { Found } from "./gathered.ts";
import { Question } from "./question.tsx";
import { selectedRuns } from "./selected.ts";
import { stateOf } from "./state.ts";

interface Props {
  act: BulkAct;
  /** Asks for the list anew. */
  again(): void;
}

/** A button that asks, and does it. */
export function BulkButton({ act, again }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const state = useMemo(stateOf, []);
  const ending = useRef(new AbortController());
  useEffect(
    () => () => {
      ending.current.abort();
      // Whatever ends later is not shown any more.
      ending.current = new AbortController();
    },
    [],
  );
  const read = async (after: string | undefined) => {
    ending.current = new AbortController();
    const { signal: asked } = ending.current;
    state.read.value = 0;
    state.found.value = state.error.value = undefined;
    state.phase.value = "asked";
    const gathering = { fits: act.fits, after, read: (count: number) => (state.read.value = count) };
    try {
      // A key or click just before may not be drawn yet: the address has what it selected.
      const found = await selectedRuns(selectionOf(), filterOf(), gathering, asked);
      if (!asked.aborted) state.found.value = found;
    } catch (error) {
      if (!asked.aborted) state.error.value = error;
    }
  };
  const start = async ({ ids, next }: Found) => {
    if (state.phase.peek() !== "asked") return;
    const { signal: asked } = ending.current;
    const { progress, ended } = doEach(ids, async (id) => send(await act.callFor(id)), asked);
    // Whoever does not wait for the end of a stop can ask the next question meanwhile.
    const isShown = () => ending.current.signal === asked;
    const unfollow = progress.subscribe((now) => {
      if (isShown()) state.progress.value = now;
    });
    state.phase.value = "running";
    await ended;
    unfollow();
    again();
    if (!isShown()) return;
    const { done, of, failed } = progress.peek();
    state.phase.value = done < of ? "stopped" : "over";
    if (done === of && failed.length === 0 && next === null) {
      dialog.current?.close();
      select({ is: "ids", ids: [] });
    }
  };
  const stop = () => {
    ending.current.abort();
    if (state.phase.peek() === "running") state.phase.value = "stopping";
  };
  return (
    <>
      <button
        type="button"
        class={act.ends ? "ends" : ""}
        onClick={() => {
          dialog.current?.showModal();
          void read(undefined);
        }}
      >
        {act.verb}…
      </button>
      <dialog
        ref={dialog}
        aria-label={`${act.verb} runs`}
        onCancel={(event) => {
          if (state.phase.peek() !== "running") return;
          // What was done until now is said first.
          event.preventDefault();
          stop();
        }}
        onClose={stop}
      >
        <Question
          act={act}
          state={state}
          start={(found) => void start(found)}
          goOn={(next) => void read(next)}
          stop={() => (state.phase.peek() === "running" ? stop() : dialog.current?.close())}
        />
      </dialog>
    </>
  );
}
