// Which request reads a log, and at which address is all of it?
import { callOf, send } from "../../api/send.ts";
import type { LogSpan, OpenLog } from "./log-reading.ts";

/** The output of one attempt. A view belongs to exactly one (ui.md#d4). */
export interface LogName {
  run: string;
  task: string;
  stream: "stdout" | "stderr";
  /** The end of the attempt's id, such as `1.2`. */
  attempt: string;
}

/** Opens spans of a log. `follow`: the answer goes on until no more can come. */
export function opener(name: LogName, { follow }: { follow: boolean }): OpenLog {
  return (span, signal) => send({ ...callTo(name, span, follow), signal });
}

/** The address of all bytes of an attempt, which `curl` takes, too (ui.md#d10). */
export function rawPath(name: LogName): string {
  const { path } = callTo(name, { from: 0 }, false);
  return `${path}?attempt=${name.attempt}`;
}

function callTo({ run, task, stream, attempt }: LogName, span: LogSpan, follow: boolean) {
  const tail = "tail" in span ? String(span.tail) : undefined;
  const input = {
    path: { id: run, task, stream },
    query: { attempt, tail, follow: follow ? ("1" as const) : undefined },
    headers: "from" in span ? { range: rangeOf(span) } : {},
  };
  return callOf("getRunLog", input);
}

function rangeOf({ from, to }: { from: number; to?: number | undefined }): string {
  return `bytes=${from}-${to === undefined ? "" : to - 1}`;
}
