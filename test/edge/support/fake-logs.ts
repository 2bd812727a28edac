import type { Arrivals, ArrivalsRequest, LogChunk, LogRequest } from "../../../src/objects/rpc.ts";
import { DroverError } from "../../../src/shared/errors.ts";
import type { FakeRun, Until } from "./fake-objects.ts";

// What the runs of the fake have written.

/** The fake has one stream, whose bytes all came when the run was submitted. */
export async function readArrivals(
  run: () => FakeRun,
  request: ArrivalsRequest,
  until: Until,
): Promise<Arrivals> {
  const { task, attempt, streams, waitMs } = request;
  const isWanted = streams.includes("stdout");
  const from = request.from.stdout;
  const log = { task, stream: "stdout" as const, from, maxBytes: 2 ** 30, waitMs };
  const found = await readLog(run, { ...log, ...(attempt === undefined ? {} : { attempt }) }, until);
  const at = Date.parse(run().status.submittedAt);
  const isNew = isWanted && found.size > from && at >= (request.since ?? at);
  return {
    attempt: found.attempt ?? null,
    ended: found.ended,
    stored: { stdout: found.size, stderr: 0 },
    next: { ...request.from, stdout: found.size },
    items: isNew ? [{ stream: "stdout", from, to: found.size, at, after: null }] : [],
  };
}

/** A part of the log of an attempt, once there is one. */
export async function readLog(run: () => FakeRun, request: LogRequest, until: Until): Promise<LogChunk> {
  if (request.task !== "main") throw new DroverError("unknown_task", `There is no task "${request.task}".`);
  const isNone = () => run().status.state === "pending";
  await until(request.waitMs, () => !isNone() || undefined);
  if (isNone()) return { data: new Uint8Array(), from: 0, size: 0, ended: false, dropped: 0 };
  const usual = request.oldest ? 1 : run().earlierLogs.length + 1;
  const n = Number(request.attempt?.split(".")[1] ?? usual);
  const log = () => run().earlierLogs[n - 1] ?? run().log;
  const isOver = () => run().logEnded || n <= run().earlierLogs.length;
  const from = request.from < 0 ? Math.max(0, log().length + request.from) : request.from;
  await until(request.waitMs, () => log().length > from || isOver() || undefined);
  const data = log().slice(from, from + request.maxBytes);
  const { logDropped: dropped } = run();
  return { data, from, attempt: `1.${n}`, size: log().length, ended: isOver(), dropped };
}
