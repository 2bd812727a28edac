// Where in a log is the number of a line known?
import { stretchOfLine } from "../../core/allocation/output/lines.ts";
import { NO_LOGS } from "../../core/allocation/output/logs.ts";
import type { Existing } from "../../core/allocation/state.ts";
import { droverNow } from "../clock.ts";
import type { LogStore } from "../files/log-store.ts";
import type { LineRequest, LogLine } from "../rpc.ts";
import { attemptOf, refuseGone, shortName } from "./log-bytes.ts";

/**
 * The stretch with the requested byte, or the one in which the requested line begins, and the number of the
 * line at its first byte (api.md#lines). Throws `unknown_task`, `unknown_attempt`, or `expired_logs`.
 */
export function readLine(store: LogStore, state: Existing, request: LineRequest): LogLine {
  const { record } = state;
  const attempt = attemptOf(record, request);
  refuseGone(state, droverNow());
  const nothing = { from: 0, to: 0, line: 1 };
  if (attempt === null) return { attempt: null, stored: 0, ...nothing };
  const { id } = attempt;
  const log = (record.logs[id] ?? NO_LOGS)[request.stream];
  const { stored } = log;
  const stretchAt = (offset: number) => store.lineStretchAt(log, id, request.stream, offset);
  const found =
    "line" in request
      ? stretchOfLine(stretchAt, stored, request.line)
      : stretchAt(Math.min(request.offset, stored));
  const shown =
    found === undefined
      ? nothing
      : {
          from: found.from,
          to: found.from + found.length,
          line: found.lines === undefined ? null : found.lines + 1,
        };
  return { attempt: shortName(id), stored, ...shown };
}
