// Which number does a line have, as the API counts, without reading the log from its beginning?
import { newlinesIn } from "../../../src/shared/output/newlines.ts";
import { ask } from "../../api/send.ts";
import type { LineStart } from "../bytes/line-finder.ts";
import type { NewlineCount } from "../bytes/window.ts";
import { type LogName, opener } from "./log-call.ts";
import { readLog } from "./log-reading.ts";
import { pauseIn } from "./pause.ts";

/**
 * Counts the newlines before a byte of the stretch `from` up to `to` (ui.md#log-rows). One small request does
 * if a stored row of the log begins there; else the rest of that row before `from`, less than 4 MiB, is read,
 * too. Undefined: the host has not counted. Rejects like `ask`.
 */
export async function newlineCount(
  name: LogName,
  { from, to }: { from: number; to: number },
  signal: AbortSignal,
): Promise<NewlineCount | undefined> {
  const known = await ask("getLogLine", inputOf(name, { offset: to - 1 }), signal);
  if (known.line === null) return undefined;
  let newlines = known.line - 1;
  if (known.from >= from) return { at: known.from, newlines };
  const open = opener(name, { follow: false });
  let at = known.from;
  for await (const news of readLog({ from: at, to: from }, { open, signal, pause: pauseIn(signal) })) {
    if (news.is !== "bytes") continue;
    newlines += newlinesIn(news.bytes);
    at += news.bytes.length;
  }
  return { at, newlines };
}

/** The byte from which on a line is found by counting: close before it, or the beginning of the log. */
export async function startOfLine(name: LogName, line: number, signal: AbortSignal): Promise<LineStart> {
  const known = await ask("getLogLine", inputOf(name, { line }), signal);
  return known.line === null ? { from: 0, line: 1 } : { from: known.from, line: known.line };
}

function inputOf({ run, task, stream, attempt }: LogName, place: { offset: number } | { line: number }) {
  return { path: { id: run, task, stream }, query: { attempt, ...place } };
}
