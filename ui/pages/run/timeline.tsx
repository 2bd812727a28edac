// How is the time of a run drawn? A table of its phases, whose last column has a bar for each (ui.md#d18).
import type { RunStatus } from "../../../src/generated/api.ts";
import { Scroll } from "../../parts/lists/scroll.tsx";
import { Heads } from "../../parts/lists/table.tsx";
import { took } from "../../parts/time.tsx";
import { now } from "../../store/clock.ts";
import { type Phase, phasesOf } from "./spans.ts";

const WORDS: Record<Phase["kind"], string> = {
  queued: "queued",
  requested: "machine requested",
  booting: "machine boots",
  probed: "machine probed",
  preparing: "preparing",
  running: "running",
};

/** The timeline of a run. */
export function Timeline({ run }: { run: RunStatus }) {
  const phases = phasesOf(run);
  const startMs = Date.parse(run.submittedAt);
  const isOver = run.finishedAt !== null;
  const endMs = isOver ? Date.parse(run.finishedAt ?? "") : now.value;
  const wholeMs = Math.max(1, ...phases.map(({ toMs }) => (toMs ?? endMs) - startMs));
  return (
    <Scroll label="Timeline">
      <table class="timeline">
        <Heads of={["Phase", "Of", "Began after", "Took", "From submission to end"]} />
        <tbody>
          {phases.map(({ kind, of, fromMs, toMs }) => (
            <tr key={`${kind} ${of}`}>
              <td>{WORDS[kind]}</td>
              <td>{of || "–"}</td>
              <td>{took(fromMs - startMs)}</td>
              <td>{took((toMs ?? endMs) - fromMs)}</td>
              <td>
                <div
                  class={`bar ${kind}`}
                  style={{
                    marginLeft: `${percent(fromMs - startMs, wholeMs)}%`,
                    width: `${percent((toMs ?? endMs) - fromMs, wholeMs)}%`,
                  }}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function percent(ms: number, wholeMs: number): number {
  return Math.min(100, Math.max(0, (100 * ms) / wholeMs));
}
