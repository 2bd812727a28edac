// The route of a run's output: ranges, tails, and following (api.md#logs).
import { z } from "zod";
import type { LogChunk } from "../../objects/rpc.ts";
import { MAX_LOG_BYTES, MAX_LOG_READ_BYTES } from "../../shared/limits.ts";
import { formatSize } from "../../shared/size.ts";
import type { EdgeApp } from "../edge.ts";
import { renderError } from "../http/problem.ts";
import { headersOf } from "../openapi/answer-headers.ts";
import { operation } from "../openapi/operation.ts";
import { isOn } from "../openapi/params.ts";
import { behindTheEnd, LogParams, LogQuery, type LogSpan, spanOf } from "./log-request.ts";
import { logStream } from "./log-stream.ts";

const bytes = { "application/octet-stream": { schema: z.string().meta({ format: "binary" }) } };

const OF_LOG = headersOf("Accept-Ranges", "Content-Range", "Drover-Attempt", "Drover-Dropped-Bytes");

const logs = operation({
  method: "get",
  path: "/v1/runs/{id}/logs/{task}/{stream}",
  operationId: "getRunLog",
  access: "runs:logs",
  tag: "Output",
  codes: [
    "unknown_run",
    "expired_run",
    "unknown_task",
    "unknown_attempt",
    "expired_logs",
    "range_not_satisfiable",
  ],
  summary: "What a task wrote, as it wrote it",
  description:
    "The bytes of one attempt, which `Drover-Attempt` names as soon as there is one. With `follow=1` the " +
    "answer continues until nothing more can come. " +
    `\`Drover-Dropped-Bytes\` counts lost bytes, beyond the cap of ${formatSize(MAX_LOG_BYTES)}.`,
  request: {
    params: LogParams,
    query: LogQuery,
    headers: z.object({ range: z.string().optional().meta({ example: "bytes=0-1023" }) }),
  },
  responses: {
    200: {
      description: "the bytes; for a tail, `Content-Range` says which",
      headers: OF_LOG,
      content: bytes,
    },
    206: { description: "the bytes of the range", headers: OF_LOG, content: bytes },
  },
});

/** Adds the route of a run's output (api.md#logs). */
export function runLogRoutes(app: EdgeApp): void {
  app.openapi(logs, async (c) => {
    const { id, task, stream } = c.req.valid("param");
    const { attempt, tail, follow } = c.req.valid("query");
    const bodyless = c.req.method === "HEAD";
    // HEAD ignores ranges (RFC 9110 §14.2).
    const span = spanOf(bodyless ? undefined : c.req.valid("header").range, tail);
    // Offsets count within one attempt: the latest attempt, or the first attempt if none exists yet.
    let pinnedAttempt = attempt;
    let oldest = false;
    const read = async (from: number, maxBytes: number, waitMs: number) => {
      const query = { task, stream, attempt: pinnedAttempt, oldest, from, maxBytes, waitMs };
      const chunk = await c.var.objects.allocation(id).log(query);
      pinnedAttempt ??= chunk.attempt;
      oldest = true;
      return chunk;
    };
    const first = await read(span.from, Math.min(lengthOf(span), MAX_LOG_READ_BYTES), 0);
    const from = span.from < 0 ? first.from : span.from;
    const growing = isOn(follow) && !first.ended;
    if (span.ranged && from >= first.size && !growing) {
      return renderError(behindTheEnd("log", from, first.size), c, {
        "content-range": `bytes */${first.size}`,
      });
    }
    const to = growing ? (span.to ?? Number.POSITIVE_INFINITY) : Math.min(span.to ?? first.size, first.size);
    const headers = {
      "content-type": "application/octet-stream",
      "accept-ranges": "bytes",
      "cache-control": "no-store",
      ...(first.attempt === undefined ? {} : { "drover-attempt": first.attempt }),
      ...(first.dropped > 0 ? { "drover-dropped-bytes": String(first.dropped) } : {}),
      ...(from < to && (span.ranged || tail !== undefined)
        ? { "content-range": contentRange(first, from, to) }
        : {}),
    };
    if (bodyless) return headOf(headers, growing ? undefined : Math.max(0, to - from));
    const whole = !growing && to - from <= first.data.length;
    const body = whole
      ? first.data.slice(0, Math.max(0, to - from))
      : logStream({ first, from, to, follow: growing, read, bucket: c.var.objects.logs() });
    return new Response(body, { status: span.ranged ? 206 : 200, headers });
  });
}

/** The answer to HEAD. The answer has no length while the log grows. */
function headOf(headers: Record<string, string>, bytes: number | undefined): Response {
  const head = new Response(null, { headers });
  if (bytes !== undefined) head.headers.set("content-length", String(bytes));
  return head;
}

function lengthOf({ from, to }: LogSpan): number {
  if (from < 0) return -from;
  return to === undefined ? Number.POSITIVE_INFINITY : to - from;
}

/**
 * The `Content-Range` of a range or a tail. For a tail, this header says where the tail begins. The length of
 * a growing log is `*`, and an open range of a growing log ends where the largest possible log would end.
 */
function contentRange({ ended, size }: LogChunk, from: number, to: number): string {
  const last = Number.isFinite(to) ? to - 1 : Math.max(MAX_LOG_BYTES - 1, from);
  return `bytes ${from}-${last}/${ended ? size : "*"}`;
}
