// How are both streams of an attempt read, in the order in which they arrived (api.md#arrivals)?
import { type AnswerOf, ask } from "../../api/send.ts";
import { joined } from "../bytes/joined.ts";
import { type LogName, opener } from "../read/log-call.ts";
import { readLog } from "../read/log-reading.ts";
import { inTurn } from "../read/sharing.ts";
import { type Arrival, firstOf, type Offsets, offsetsAfter, type StreamName } from "./merge.ts";

/** How much of the end of each stream is read at first. */
export const TAIL_BYTES = 1024 * 1024;
/** How much is read at a time. */
const STEP_BYTES = 4 * 1024 * 1024;
/** How long one question waits for more. */
const WAIT = "30s";
const STREAMS = ["stdout", "stderr"] as const;

/** The output of one attempt, of both streams. */
export type BothName = Omit<LogName, "stream">;

/** What arrived, in order, with its bytes. */
export interface Step {
  arrivals: { arrival: Arrival; bytes: Uint8Array }[];
  /** Where the next step begins. */
  next: Offsets;
  /** Whether more is stored than has been read, and can be read now. */
  hasMore: boolean;
  /** Whether nothing can follow any more. */
  isLast: boolean;
}

/** Where each stream begins, if only its end is read. Rejects like `ask`. */
export async function startOfEnds(name: BothName, signal: AbortSignal): Promise<Offsets> {
  const { stored } = await pageOf(name, { stdout: 0, stderr: 0 }, undefined, signal);
  const start = (stream: StreamName) => Math.max(0, stored[stream] - TAIL_BYTES);
  return { stdout: start("stdout"), stderr: start("stderr") };
}

/** What arrived next, 4 MiB at most, or one stretch. `waits`: for half a minute if there is nothing yet. */
export async function readStep(
  name: BothName,
  from: Offsets,
  { waits }: { waits: boolean },
  signal: AbortSignal,
): Promise<Step> {
  const held = waits ? await inTurn(signal, (turn) => pageOf(name, from, WAIT, turn)) : undefined;
  const page = held ?? (await pageOf(name, from, undefined, signal));
  const taken = firstOf(page.items, STEP_BYTES);
  const next = offsetsAfter(from, taken);
  const read = async (stream: StreamName) => bytesOf({ ...name, stream }, spanOf(taken, stream), signal);
  const [stdout, stderr] = await Promise.all([read("stdout"), read("stderr")]);
  const arrivals = taken.map((arrival) => {
    const { span, bytes } = arrival.stream === "stdout" ? stdout : stderr;
    return { arrival, bytes: bytes.subarray(arrival.from - span.from, arrival.to - span.from) };
  });
  const hasMore = STREAMS.some((stream) => next[stream] < page.stored[stream]);
  const isMoved = arrivals.length > 0;
  return { arrivals, next, hasMore: hasMore && isMoved, isLast: page.ended && !(hasMore && isMoved) };
}

function pageOf(
  { run, task, attempt }: BothName,
  from: Offsets,
  wait: string | undefined,
  signal: AbortSignal,
): Promise<AnswerOf<"getLogArrivals">> {
  return ask("getLogArrivals", { path: { id: run, task }, query: { attempt, ...from, wait } }, signal);
}

function spanOf(arrivals: readonly Arrival[], stream: StreamName): { from: number; to: number } {
  const own = arrivals.filter((arrival) => arrival.stream === stream);
  return { from: own.at(0)?.from ?? 0, to: own.at(-1)?.to ?? 0 };
}

async function bytesOf(name: LogName, span: { from: number; to: number }, signal: AbortSignal) {
  const pieces: Uint8Array[] = [];
  let length = 0;
  if (span.to > span.from) {
    const open = opener(name, { follow: false });
    for await (const news of readLog(span, { open, signal, pause: giveUp })) {
      if (news.is === "broken") throw news.error;
      if (news.is !== "bytes") continue;
      pieces.push(news.bytes);
      length += news.bytes.length;
    }
  }
  if (length < span.to - span.from) throw new Error("the log is shorter than the control plane says");
  return { span, bytes: joined(pieces, length) };
}

/** Whoever reads steps begins the step again, so that both streams wait together. */
async function giveUp(): Promise<void> {}
