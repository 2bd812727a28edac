// What has a failed task said last on stderr, for somebody who looks at stdout?
import { UnreachableError } from "../../api/send.ts";
import { withQuery } from "../../router/place.ts";
import { useLoad } from "../../store/load.ts";
import { type LogName, opener } from "../read/log-call.ts";
import { spansOf } from "../text/spans.ts";

/** So much of the end of stderr is read. */
const BYTES = 2_048;
const LINES = 3;

/** The last lines of stderr, and the way there. Nothing, if there are none. */
export function LastErrors({ name }: { name: LogName }) {
  const { value = [] } = useLoad({
    key: JSON.stringify(name),
    ask: (signal) => lastLines({ ...name, stream: "stderr" }, signal),
  });
  if (value.length === 0) return null;
  return (
    <section class="last-errors" aria-label="The last lines of stderr">
      stderr ends with this (
      <a href={withQuery({ tab: "log", stream: "stderr", b: undefined, l: undefined })}>all of stderr</a>):
      <pre>{value.join("\n")}</pre>
    </section>
  );
}

async function lastLines(name: LogName, signal: AbortSignal): Promise<string[]> {
  const answer = await opener(name, { follow: false })({ tail: BYTES }, signal);
  const text = await answer.text().catch((error) => {
    throw new UnreachableError(location.origin, error);
  });
  const lines = text.split("\n").map((line) =>
    spansOf(line)
      .spans.map((span) => span.text)
      .join(""),
  );
  return lines.filter((line) => line.trim() !== "").slice(-LINES);
}
