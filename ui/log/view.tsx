// The output of a task: which attempt and stream the address names, and what can be done with it.
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { RunStatus } from "../../src/generated/api.ts";
import { hasFailed, isTerminal } from "../../src/shared/run-state.ts";
import { Nothing, Trouble } from "../parts/problem.tsx";
import { go, place, queryOf, withQuery } from "../router/place.ts";
import { Both } from "./both/both.tsx";
import { placeIn } from "./bytes/place.ts";
import { numberLines } from "./pane/line-numbers.ts";
import { LogPane } from "./pane/log-pane.ts";
import { LogSearch } from "./pane/log-search.ts";
import { statusText } from "./pane/status.ts";
import { whileHidden } from "./pane/while-hidden.ts";
import { type LogName, rawPath } from "./read/log-call.ts";
import type { Following } from "./read/next-attempt.ts";
import type { TextRow } from "./view/drawn.ts";
import { Find } from "./view/find.tsx";
import { FoldAll } from "./view/groups.tsx";
import { LastErrors } from "./view/last-errors.tsx";
import { Rows } from "./view/rows.tsx";
import { taskToShow } from "./view/task-of.ts";
import { EndButton, WrapBox } from "./view/tools.tsx";

const STREAMS = ["stdout", "stderr", "both"] as const;

/**
 * The output of a run. The address chooses the task, the stream and the attempt (ui.md#d15). `onNext` hears
 * of attempts that follow.
 */
export function LogView({ run, onNext }: { run: RunStatus; onNext: () => void }) {
  // The one when the view was opened: what another task does must not take away what somebody reads.
  const first = useMemo(() => taskToShow(run), [run.id]);
  const task = queryOf("task") || first;
  const stream = STREAMS.find((one) => one === queryOf("stream")) ?? "stdout";
  const chosen = queryOf("attempt");
  const known = run.tasks.find(({ name }) => name === task);
  const attempts = known?.attempts.map(({ id }) => id.slice(id.lastIndexOf("/") + 1)) ?? [];
  const latest = attempts.at(-1);
  // The latest one when the view was opened: a restart must not take away what somebody reads (ui.md#d3).
  const opened = useMemo(() => latest, [run.id, task, stream, chosen, latest === undefined]);
  const attempt = chosen || opened;
  const following = { goesOn: chosen === "", onNext: isTerminal(run.state) ? undefined : onNext };
  return (
    <section class="log-page" aria-label="Output">
      {run.tasks.length > 1 && (
        <Tabs label="Tasks" name="task" items={run.tasks.map(({ name }) => name)} chosen={task} />
      )}
      <Tabs label="Streams" name="stream" items={STREAMS} chosen={stream} />
      {attempts.length > 1 && (
        <Tabs label="Attempts" name="attempt" items={attempts} chosen={attempt ?? ""} />
      )}
      {attempt !== undefined && stream === "stdout" && hasFailed(run) && (
        <LastErrors key={[run.id, task, attempt].join(" ")} name={{ run: run.id, task, stream, attempt }} />
      )}
      {attempt === undefined ? (
        <Nothing why={`${task} has not been started yet, so it has no output.`} />
      ) : stream === "both" ? (
        <Both
          key={[run.id, task, stream, attempt].join(" ")}
          name={{ run: run.id, task, attempt }}
          following={following}
        />
      ) : (
        <Output
          key={[run.id, task, stream, attempt].join(" ")}
          name={{ run: run.id, task, stream, attempt }}
          following={following}
          opensLast={!isTerminal(run.state) || hasFailed(run)}
        />
      )}
    </section>
  );
}

/** Links to other values of the address. What is about bytes of one output does not go along. */
function Tabs(props: { label: string; name: string; items: readonly string[]; chosen: string }) {
  const { label, name, items, chosen } = props;
  const rest = { tab: "log", b: undefined, l: undefined };
  const others = name === "attempt" ? rest : { ...rest, attempt: undefined };
  return (
    <nav class="tabs" aria-label={label}>
      {items.map((item) => (
        <a
          key={item}
          href={withQuery({ ...others, [name]: item })}
          aria-current={item === chosen ? "page" : undefined}
        >
          {item}
        </a>
      ))}
    </nav>
  );
}

/** The output of one attempt, and of those that follow it while somebody looks (ui.md#d4). */
function Output(props: { name: LogName; following: Following; opensLast: boolean }) {
  const { name, following, opensLast } = props;
  const pane = useMemo(() => new LogPane(name, following, opensLast), []);
  const search = useMemo(() => new LogSearch(pane), [pane]);
  const wraps = useSignal(true);
  useEffect(() => {
    open(pane);
    const stops = [whileHidden(pane), numberLines(pane)];
    return () => {
      for (const stop of stops) stop();
      search.close();
      pane.close();
    };
  }, [pane, search]);
  useSignalEffect(() => goToLinked(pane));
  const status = pane.status.value;
  return (
    <>
      <Tools name={name} pane={pane} wraps={wraps.value} onWrap={(on) => (wraps.value = on)} />
      <Find pane={pane} search={search} />
      <p class="log-status" role="status">
        {statusText(status)}
      </p>
      {pane.note.value !== "" && <p role="status">{pane.note}</p>}
      {status.is === "failed" && <Trouble error={status.error} again={() => pane.showEnd()} />}
      <Rows
        pane={pane}
        label={`${name.stream} of ${name.task}`}
        wraps={wraps.value}
        hrefOf={hrefOf}
        onExtend={extend}
        isMarked={(row) => isLinked(row) || isFound(row, search)}
      />
    </>
  );
}

interface ToolsProps {
  name: LogName;
  pane: LogPane;
  wraps: boolean;
  onWrap: (on: boolean) => void;
}

function Tools({ name, pane, wraps, onWrap }: ToolsProps) {
  const isFollowing = pane.position.value.is === "end";
  const rows = pane.status.value.is === "live" ? (pane.newRows.value ?? 0) : 0;
  return (
    <div class="log-tools">
      <button type="button" onClick={() => pane.showBytes(0, 1)}>
        Beginning
      </button>
      <EndButton newRows={rows} isFollowing={isFollowing} onClick={() => pane.resume()} />
      <WrapBox wraps={wraps} onWrap={onWrap} />
      <FoldAll pane={pane} />
      <a href={rawPath(name)} download={`${name.run}-${name.task}-${name.attempt}-${name.stream}.log`}>
        Raw
      </a>
    </div>
  );
}

/** Opens what the address names: bytes, lines, or the end (ui.md#d1). */
function open(pane: LogPane): void {
  const wanted = placeIn(place.peek().query);
  if (wanted === undefined) pane.showEnd();
  else if (wanted.unit === "bytes") pane.showBytes(wanted.from, wanted.to);
  else pane.showLines(wanted.from, wanted.to);
}

/** Follows the address, which Back and links change. */
function goToLinked(pane: LogPane): void {
  const wanted = placeIn(place.value.query);
  const isOpen = pane.document.peek().sections.some(({ window }) => window.to > window.from);
  if (wanted?.unit === "bytes" && isOpen) pane.goTo(queryOf("attempt") || pane.shown().attempt, wanted);
}

/** The address of a row: its bytes, which are the same for ever (ui.md#d8). */
function hrefOf({ attempt, from, to }: Pick<TextRow, "attempt" | "from" | "to">): string {
  return withQuery({ tab: "log", attempt, b: `${from}-${to}`, l: undefined });
}

/** Links to the bytes from the linked ones to this row. */
function extend({ attempt, from, to }: TextRow): void {
  const linked = placeIn(place.peek().query);
  const isSame = linked?.unit === "bytes" && queryOf("attempt") === attempt;
  const range = isSame ? { from: Math.min(linked.from, from), to: Math.max(linked.to, to) } : { from, to };
  go(hrefOf({ attempt, ...range }));
}

function isLinked({ attempt, from, to, line }: TextRow): boolean {
  const linked = placeIn(place.value.query);
  const of = queryOf("attempt");
  if (linked === undefined || (of !== "" && of !== attempt)) return false;
  if (linked.unit === "bytes") return from < linked.to && to > linked.from;
  return line !== undefined && line >= linked.from && line <= linked.to;
}

function isFound({ attempt, from, to }: TextRow, { found }: LogSearch): boolean {
  const { hit, attempt: inAttempt } = found.value ?? {};
  return hit !== undefined && attempt === inAttempt && from < hit.to && to > hit.from;
}
