// What did a machine do between "asked" and "ready", and what happened to it since?
import type { WorkerHistoryEntry, WorkerStatus } from "../../../src/generated/api.ts";
import { Long, Scroll } from "../../parts/lists/scroll.tsx";
import { Heads } from "../../parts/lists/table.tsx";
import { Moment, took } from "../../parts/time.tsx";

/** The boot of a machine: when it was asked for, made, and became a host, and the steps of its script. */
export function Boot({ worker }: { worker: WorkerStatus }) {
  const { askedAt, createdAt, joinedAt, readyAt, boot = [], bootProbe, bootOutcome } = worker;
  const times: [string, string | null, string][] = [
    ["Machine requested", askedAt, ""],
    ["Machine made", createdAt, ""],
    ...boot.map(({ step, at, text }): [string, string, string] => [`Script: ${step}`, at, text]),
    ["Host joined", joinedAt, ""],
    ["Ready", readyAt, ""],
  ];
  const known = times.flatMap(([what, at, text]) => (at === null ? [] : [{ what, at, text }]));
  known.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
  return (
    <>
      <h2>Boot{bootOutcome !== null && `: ${bootOutcome}`}</h2>
      <Scroll label="Boot">
        <table>
          <Heads of={["Step", "When", "After the request", "Text"]} />
          <tbody>
            {known.map(({ what, at, text }) => (
              <tr key={`${what} ${at}`}>
                <td>{what}</td>
                <td>
                  <Moment at={at} />
                </td>
                <td>{took(Date.parse(at) - Date.parse(askedAt))}</td>
                <td class="code">{text}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {bootProbe !== null && (
        <>
          <h3>Probe: {bootProbe.ok ? "passed" : `failed${exitText(bootProbe.exitCode)}`}</h3>
          {bootProbe.output !== "" && <Long label="Output of the probe" text={bootProbe.output} />}
        </>
      )}
    </>
  );
}

function exitText(code: number | null | undefined): string {
  return code === null || code === undefined ? "" : `, exit code ${code}`;
}

/** The events of a worker, latest first. */
export function History({ events }: { events: readonly WorkerHistoryEntry[] }) {
  return (
    <>
      <h2>Events</h2>
      <Scroll label="Events">
        <table>
          <Heads of={["When", "What", "Details"]} />
          <tbody>
            {events.toReversed().map(({ at, type, message }) => (
              <tr key={`${at} ${type} ${message}`}>
                <td>
                  <Moment at={at} />
                </td>
                <td>{type}</td>
                <td>{message}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}
