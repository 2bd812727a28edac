// Which bytes of a log does a request ask for, by `Range` or `tail`?
import { z } from "zod";
import { STREAMS } from "../../shared/attempt-id.ts";
import { DroverError } from "../../shared/errors.ts";
import { formatSize, parseSize } from "../../shared/size.ts";

import { invalid } from "../http/invalid.ts";
import { Flag, RunParams } from "../openapi/params.ts";

/** `bytes=from-to`, `bytes=from-`, or `bytes=-last`. */
const RANGE = /^bytes=(?:(\d{1,15})-(\d{1,15})?|-(\d{1,15}))$/;

/** The parameters of what a task wrote. */
export const OutputParams = RunParams.extend({
  task: z
    .string()
    .regex(/^[a-z0-9-]{1,63}$/, "must be the name of a task, such as main")
    .meta({ description: "the task's name", example: "main" }),
});

export const LogParams = OutputParams.extend({ stream: z.enum(STREAMS) });

/** The attempt that a request is about. */
export const AttemptName = z
  .string()
  .regex(/^[1-9]\d{0,8}\.[1-9]\d{0,8}$/, 'must be the end of an attempt\'s id, <epoch>.<n>, such as "1.1"')
  .meta({ description: "the end of the attempt's id; if absent, the latest attempt", example: "1.1" });

export const LogQuery = z.strictObject({
  attempt: AttemptName.optional(),
  tail: z
    .string()
    .refine((text) => (parseSize(text) ?? 0) >= 1, {
      error: 'must be a size such as "64KiB", of one byte or more',
    })
    .optional()
    .meta({ description: "only this many bytes at the end", example: "64KiB" }),
  follow: Flag.optional().meta({ description: "1: continue with new output, until the end" }),
});

/** The bytes that a request asks for. */
export interface LogSpan {
  /** Negative: counted from the end. */
  from: number;
  /** Offset after the last byte; absent: to the end. */
  to?: number;
  /** Whether the request used `Range`. Then the answer is 206 or 416. */
  ranged: boolean;
}

/**
 * Parses the requested bytes. A `Range` in another unit is ignored (RFC 9110 §14.2). A malformed or
 * multi-part `Range` is a 400, and so is a `Range` together with `tail`. A suffix of zero bytes is a 416.
 */
export function spanOf(range: string | undefined, tail: string | undefined): LogSpan {
  if (range === undefined || !range.startsWith("bytes=")) {
    return { from: tail === undefined ? 0 : -(parseSize(tail) ?? 0), ranged: false };
  }
  if (tail !== undefined) {
    throw invalid([{ pointer: "?tail", detail: "cannot be used together with a Range: send one of them" }]);
  }
  const [, first, last, suffix] = RANGE.exec(range) ?? [];
  if (suffix !== undefined) {
    if (Number(suffix) === 0)
      throw new DroverError("range_not_satisfiable", "a range cannot be empty: the last 0 bytes");
    return { from: -Number(suffix), ranged: true };
  }
  const from = Number(first);
  if (first === undefined || (last !== undefined && Number(last) < from)) {
    const detail = 'must be one range of bytes, such as "bytes=0-1023", "bytes=1024-" or "bytes=-512"';
    throw invalid([{ pointer: "Range:", detail }]);
  }
  return last === undefined ? { from, ranged: true } : { from, to: Number(last) + 1, ranged: true };
}

/** The error for a range that begins after the end. */
export function behindTheEnd(what: "log" | "snapshot", from: number, size: number): DroverError {
  const text = `the ${what} has ${size} bytes (${formatSize(size)}) so far; the range begins at ${from}`;
  return new DroverError("range_not_satisfiable", text);
}
