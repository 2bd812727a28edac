// What do the checks of a run's tasks say (health.md#status)?
import type { RunStatus } from "../../../src/generated/api.ts";
import { Moment } from "../../parts/time.tsx";

/** One line for each task with checks. */
export function Checks({ run }: { run: RunStatus }) {
  const checked = run.tasks.filter(({ checks }) => checks !== undefined);
  if (checked.length === 0) return null;
  return (
    <>
      <h2>Checks</h2>
      {checked.map(({ name, checks = [] }) => (
        <p key={name}>
          {name}
          {checks.map(({ name: check, status, since, output }, i) => (
            <span key={check}>
              {i === 0 ? ": " : "; "}
              {check} is {status === "critical" ? <strong>{status}</strong> : status}
              {since !== null && (
                <>
                  {" since "}
                  <Moment at={since} />
                </>
              )}
              {output !== undefined && `: ${output}`}
            </span>
          ))}
        </p>
      ))}
    </>
  );
}
