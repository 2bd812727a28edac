// How does a reader do something to all selected runs? A question names and counts them (ui.md#d19).
import { type Signal, signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { RunSummary } from "../../../src/generated/api.ts";
import { send } from "../../api/send.ts";
import { may } from "../../api/session.ts";
import { curlOf } from "../../parts/as-text.ts";
import { Command } from "../../parts/copy.tsx";
import { Trouble, wordsOf } from "../../parts/problem.tsx";
import { BULK_ACTS, type BulkAct, planOf } from "./bulk-acts.ts";
import type { Selection } from "./click.ts";
import { doEach, type Progress } from "./each.ts";
import type { Filter } from "./filter.ts";
import { MOST_AT_ONCE, selectedRuns } from "./selected.ts";
import { MOST_SELECTED, select } from "./selection.ts";

/** Names and commands beyond this number are counted only. */
const SHOWN = 10;

interface Props {
  selection: Selection;
  filter: Filter;
  /** The rows that the list shows. */
  shown: { ids: readonly string[] };
  /** Asks for the list anew. */
  again(): void;
}

/** What is selected, and what can be done to it. */
export function Bulk(props: Props) {
  const { selection, shown } = props;
  const isNone = selection.is === "ids" && selection.ids.length === 0;
  const hidden = selection.is === "all" ? [] : selection.ids.filter((id) => !shown.ids.includes(id));
  return (
    <section class="bulk" aria-label="Selected runs">
      <p role="status">{wordsFor(selection, hidden.length)}</p>
      <button type="button" class="small" onClick={() => select({ is: "ids", ids: shown.ids })}>
        Select the {shown.ids.length} shown
      </button>
      <button type="button" class="small" onClick={() => select({ is: "all" })}>
        Select all that match
      </button>
      {!isNone && (
        <button type="button" class="small" onClick={() => select({ is: "ids", ids: [] })}>
          Select none
        </button>
      )}
      {!isNone &&
        may("runs:write") &&
        BULK_ACTS.map((act) => <BulkButton key={act.verb} act={act} {...props} />)}
    </section>
  );
}

function wordsFor(selection: Selection, hidden: number): string {
  if (selection.is === "all") return "All runs that match are selected.";
  const { length } = selection.ids;
  if (length === 0) return "No run is selected.";
  const most = length >= MOST_SELECTED ? ` At most ${MOST_SELECTED} are selected one by one.` : "";
  return `${length} selected${hidden > 0 ? `, ${hidden} of them on other pages` : ""}.${most}`;
}

/** What the question knows: undefined until the selected runs have been read. */
type Known = { items: readonly RunSummary[]; isCut: boolean } | undefined;

/** All that the question shows, each time it is opened. */
function stateOf() {
  return {
    read: signal(0),
    known: signal<Known>(undefined),
    error: signal<unknown>(undefined),
    running: signal<Signal<Progress> | undefined>(undefined),
  };
}

function BulkButton({ act, selection, filter, again }: Props & { act: BulkAct }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const state = useMemo(stateOf, []);
  const ending = useRef(new AbortController());
  useEffect(() => () => ending.current.abort(), []);
  const open = async () => {
    ending.current = new AbortController();
    const { signal: asked } = ending.current;
    state.read.value = 0;
    state.known.value = state.error.value = state.running.value = undefined;
    dialog.current?.showModal();
    try {
      const found = await selectedRuns(selection, filter, (count) => (state.read.value = count), asked);
      if (!asked.aborted) state.known.value = found;
    } catch (error) {
      if (!asked.aborted) state.error.value = error;
    }
  };
  const start = async (ids: readonly string[]) => {
    const { signal: asked } = ending.current;
    const one = async (id: string) => send({ ...(await act.callFor(id, asked)), signal: asked });
    const { progress, ended } = doEach(ids, one, asked);
    state.running.value = progress;
    await ended;
    const isClean = progress.peek().failed.length === 0;
    if (isClean && !asked.aborted) {
      dialog.current?.close();
      select({ is: "ids", ids: [] });
    }
    again();
  };
  return (
    <>
      <button type="button" class={act.ends ? "ends" : ""} onClick={() => void open()}>
        {act.verb}…
      </button>
      {/* Escape closes, too: what has not been sent by then is not sent. */}
      <dialog ref={dialog} aria-label={`${act.verb} runs`} onClose={() => ending.current.abort()}>
        <Question act={act} state={state} start={start} close={() => dialog.current?.close()} />
      </dialog>
    </>
  );
}

function Question(props: {
  act: BulkAct;
  state: ReturnType<typeof stateOf>;
  start(ids: readonly string[]): void;
  close(): void;
}) {
  const { act, state, start, close } = props;
  const known = state.known.value;
  const progress = state.running.value?.value;
  const { ids, left } = planOf(act, known?.items ?? []);
  return (
    <>
      <h2>{known === undefined ? `${act.verb}: reading which…` : `${act.verb} ${counted(ids.length)}?`}</h2>
      <Trouble error={state.error.value} />
      {known === undefined && state.read.value > 0 && <p role="status">{state.read.value} so far</p>}
      {known && (
        <>
          <p>{ids.slice(0, SHOWN).join(", ") + andMore(ids.length)}</p>
          <p>{act.effect}</p>
          {left > 0 && (
            <p>
              {left} of the {known.items.length} selected stay unchanged: they {act.unfit}.
            </p>
          )}
          {known.isCut && <p>More match: these are the first {MOST_AT_ONCE}. Do it again for the others.</p>}
        </>
      )}
      {progress && <Done progress={progress} />}
      <div class="actions">
        <button type="button" onClick={close} autofocus>
          {progress === undefined ? "Cancel" : progress.done < progress.of ? "Stop" : "Close"}
        </button>
        <button
          type="button"
          class={act.ends ? "ends" : "main"}
          disabled={ids.length === 0 || progress !== undefined}
          onClick={() => start(ids)}
        >
          {act.verb} {counted(ids.length)}
        </button>
      </div>
      {ids.length > 0 && <InShell act={act} ids={ids} />}
    </>
  );
}

function Done({ progress: { done, of, failed } }: { progress: Progress }) {
  return (
    <>
      <p role="status">
        <progress value={done} max={of} aria-label="Progress" /> {done} of {of}
        {failed.length > 0 && `, ${failed.length} refused`}
      </p>
      {failed.length > 0 && (
        <ul class="trouble">
          {failed.map(({ id, error }) => (
            <li key={id}>
              {id}: {wordsOf(error).what}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function InShell({ act, ids }: { act: BulkAct; ids: readonly string[] }) {
  const { shown } = act;
  return (
    <>
      <h3>The same in a shell</h3>
      <Command text={act.drover(ids)} label="Copy" />
      {shown === undefined ? (
        <p>By the API: read the spec of each (GET), and submit it again (POST /v1/runs).</p>
      ) : (
        <Command text={ids.map((id) => curlOf(shown(id), location.origin)).join("\n")} label="Copy" />
      )}
    </>
  );
}

const counted = (count: number) => `${count} ${count === 1 ? "run" : "runs"}`;
const andMore = (count: number) => (count > SHOWN ? ` and ${count - SHOWN} more` : "");
