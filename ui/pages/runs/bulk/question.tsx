// What does a reader see of an act on many runs, before it, on its way and after it (ui.md#d19)?
import { useMemo } from "preact/hooks";
import { UnreachableError } from "../../../api/send.ts";
import { curlOf } from "../../../parts/as-text.ts";
import { Command } from "../../../parts/copy.tsx";
import { Trouble, wordsOf } from "../../../parts/problem.tsx";
import type { BulkAct } from "./bulk-acts.ts";
import { type Found, MOST_AT_ONCE } from "./gathered.ts";
import { refusalsOf } from "./refusals.ts";
import type { BulkState } from "./state.ts";

/** Names, commands and reasons beyond this number are counted only. */
const SHOWN = 10;

interface Props {
  act: BulkAct;
  state: BulkState;
  start(found: Found): void;
  /** Reads on from a cursor, and asks again. */
  goOn(next: string): void;
  /** Stops what is running, and closes otherwise. */
  stop(): void;
}

/** The question. What moves with each run is in parts of its own, so nothing else is drawn again. */
export function Question(props: Props) {
  const { act, state } = props;
  const found = state.found.value;
  return (
    <>
      <h2>{found === undefined ? `${act.verb}: reading which…` : `${act.verb} ${counted(found.ids)}?`}</h2>
      <Trouble error={state.error.value} />
      {found === undefined && state.read.value > 0 && <p role="status">{state.read.value} so far</p>}
      {found && <Named act={act} found={found} />}
      {state.phase.value !== "asked" && <Progress state={state} />}
      <Buttons {...props} />
      {found && found.ids.length > 0 && <InShell act={act} ids={found.ids} />}
    </>
  );
}

function Named({ act, found: { ids, left, next } }: { act: BulkAct; found: Found }) {
  return (
    <>
      <p>{namesOf(ids)}</p>
      <p>{act.effect}</p>
      {left > 0 && (
        <p>
          {left} of the {ids.length + left} selected stay unchanged: they {act.unfit}.
        </p>
      )}
      {next !== null && (
        <p>
          More match than the {MOST_AT_ONCE} that are done in one go. The others are asked about afterwards.
        </p>
      )}
    </>
  );
}

function Buttons({ act, state, start, goOn, stop }: Props) {
  const found = state.found.value;
  const phase = state.phase.value;
  const ids = found?.ids ?? [];
  const next = found?.next ?? null;
  const word = { asked: "Cancel", running: "Stop", stopping: "Stopping…", stopped: "Close", over: "Close" }[
    phase
  ];
  return (
    <div class="actions">
      <button type="button" onClick={stop} autofocus>
        {word}
      </button>
      {phase === "over" && next !== null && (
        <button type="button" onClick={() => goOn(next)}>
          Ask about the others
        </button>
      )}
      <button
        type="button"
        class={act.ends ? "ends" : "main"}
        disabled={ids.length === 0 || phase !== "asked"}
        onClick={() => found && start(found)}
      >
        {act.verb} {counted(ids)}
      </button>
    </div>
  );
}

/** How far it is or, once it is over, what was done and what was not. */
function Progress({ state }: { state: BulkState }) {
  const { done, of, failed } = state.progress.value;
  const isStopped = state.phase.value === "stopped";
  const silent = failed.filter(({ error }) => error instanceof UnreachableError).length;
  const refusals = failed.length - silent;
  const refused =
    (refusals > 0 ? `, ${refusals} refused` : "") +
    (silent > 0 ? `, ${silent} without an answer: look whether it has been done` : "");
  return (
    <>
      <p role="status">
        <progress value={done} max={of} aria-label="Progress" />{" "}
        {isStopped
          ? `Stopped: ${done - failed.length} done${refused}, ${of - done} not sent.`
          : `${done} of ${of}${refused}`}
      </p>
      <Refusals failed={failed} />
    </>
  );
}

function Refusals({ failed }: { failed: Parameters<typeof refusalsOf>[0] }) {
  const refusals = useMemo(() => refusalsOf(failed, (error) => wordsOf(error).what), [failed]);
  if (refusals.length === 0) return null;
  const others = refusals.slice(SHOWN).reduce((sum, { ids }) => sum + ids.length, 0);
  return (
    <ul class="trouble">
      {refusals.slice(0, SHOWN).map(({ reason, ids }) => (
        <li key={reason}>
          {reason} {counted(ids)}: {namesOf(ids)}
        </li>
      ))}
      {others > 0 && <li>For other reasons: {others} more.</li>}
    </ul>
  );
}

function InShell({ act, ids }: { act: BulkAct; ids: readonly string[] }) {
  const { shown } = act;
  const curl = (some: readonly string[]) =>
    shown && some.map((id) => curlOf(shown(id), location.origin)).join("\n");
  const first = ids.slice(0, SHOWN);
  const [drover, call] = useMemo(() => [act.drover(ids), curl(ids)], [ids]);
  return (
    <>
      <h3>The same in a shell</h3>
      {ids.length > SHOWN && (
        <p>
          For the first {SHOWN}. <i>Copy</i> copies it for all {ids.length}.
        </p>
      )}
      <Command text={drover} shown={act.drover(first)} label="Copy" />
      {call === undefined ? (
        <p>By the API: read the spec of each (GET), and submit it again (POST /v1/runs).</p>
      ) : (
        <Command text={call} shown={curl(first) ?? call} label="Copy" />
      )}
    </>
  );
}

const counted = ({ length }: readonly string[]) => `${length} ${length === 1 ? "run" : "runs"}`;

function namesOf(ids: readonly string[]): string {
  const more = ids.length > SHOWN ? ` and ${ids.length - SHOWN} more` : "";
  return ids.slice(0, SHOWN).join(", ") + more;
}
