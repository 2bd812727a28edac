// The output of both streams as one text: what it shows, and what it says of its order (ui.md#both).
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { formatSize } from "../../../src/shared/size.ts";
import { Trouble } from "../../parts/problem.tsx";
import { go, withQuery } from "../../router/place.ts";
import { statusText } from "../pane/status.ts";
import { whileHidden } from "../pane/while-hidden.ts";
import type { Following } from "../read/next-attempt.ts";
import type { TextRow } from "../view/drawn.ts";
import type { Gutter } from "../view/row.tsx";
import { Rows } from "../view/rows.tsx";
import { EndButton, WrapBox } from "../view/tools.tsx";
import { BothPane } from "./both-pane.ts";
import { type BothName, TAIL_BYTES } from "./read-both.ts";

/** Both streams of one attempt, and of those that follow it while somebody looks. */
export function Both({ name, following }: { name: BothName; following: Following }) {
  const pane = useMemo(() => new BothPane(name, following), []);
  const wraps = useSignal(true);
  useEffect(() => {
    pane.open();
    const stop = whileHidden(pane);
    return () => {
      stop();
      pane.close();
    };
  }, [pane]);
  const status = pane.status.value;
  const isFollowing = pane.position.value.is === "end";
  const newRows = status.is === "live" ? (pane.newRows.value ?? 0) : 0;
  return (
    <>
      <div class="log-tools">
        <EndButton newRows={newRows} isFollowing={isFollowing} onClick={() => pane.toEnd()} />
        <WrapBox wraps={wraps.value} onWrap={(on) => (wraps.value = on)} />
      </div>
      <Order pane={pane} />
      <p class="log-status" role="status">
        {statusText(status)}
      </p>
      {status.is === "failed" && <Trouble error={status.error} again={() => pane.open()} />}
      <Rows
        pane={pane}
        label={`stdout and stderr of ${name.task}`}
        wraps={wraps.value}
        hrefOf={(row) => hrefOf(pane, row)}
        onExtend={(row) => go(hrefOf(pane, row))}
        isMarked={() => false}
        gutterOf={(row) => gutterOf(pane, row)}
      />
    </>
  );
}

/** What the order of the rows means, and what is not shown. */
function Order({ pane }: { pane: BothPane }) {
  const { isCut, isUnstamped, hasGap } = pane.limits.value;
  return (
    <p class="log-order">
      Both streams by the time at which the end of each line arrived on its machine. Lines within some
      milliseconds may be in another order.
      {isUnstamped &&
        " Some of this has no order between the streams: the agent of its machine gave it no time."}
      {hasGap && " What arrived while the agent did not run has the time of its return."}
      {isCut && (
        <>
          {` Only the last ${formatSize(TAIL_BYTES)} of each stream, as far back as both reach: all is in `}
          <a href={withQuery({ tab: "log", stream: "stdout" })}>stdout alone</a> and in{" "}
          <a href={withQuery({ tab: "log", stream: "stderr" })}>stderr alone</a>.
        </>
      )}
    </p>
  );
}

/** The address of a row's line in its own stream, which is the same for ever (ui.md#d8). */
function hrefOf(pane: BothPane, { attempt, from }: TextRow): string {
  const line = pane.lineAt(attempt, from);
  if (line === undefined) return withQuery({ tab: "log", attempt });
  return withQuery({ tab: "log", stream: line.stream, attempt, b: `${line.from}-${line.to}` });
}

/** The stream of a row by its name, and on hover when its end arrived, in UTC. */
function gutterOf(pane: BothPane, { attempt, from, isContinued }: TextRow): Gutter {
  const line = pane.lineAt(attempt, from);
  if (line === undefined) return { text: "", label: "Link to this attempt" };
  const title = line.at === null ? "It is not known when this arrived." : `Arrived ${line.at} (UTC)`;
  const label = `Link to this line of ${line.stream}`;
  return { text: isContinued ? "⋯" : line.stream, label, title };
}
