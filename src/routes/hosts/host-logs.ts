// The route by which hosts upload logs that are too large for a report (host-protocol.md#logs).
import { z } from "zod";
import { AttemptId } from "../../schema/host.ts";
import { LogOffset } from "../../schema/run/arrivals.ts";
import { STREAMS } from "../../shared/attempt-id.ts";
import { DroverError } from "../../shared/errors.ts";
import { MAX_LOG_CHUNK_BYTES } from "../../shared/limits.ts";
import { formatSize } from "../../shared/size.ts";
import { MAX_STAMPS } from "../../shared/time/stamps.ts";
import type { EdgeApp, EdgeContext } from "../edge.ts";
import { drainBody } from "../http/drain-body.ts";
import { invalid } from "../http/invalid.ts";
import { operation } from "../openapi/operation.ts";
import { HostParams, jsonAnswer } from "../openapi/params.ts";
import { admit, SignatureHeaders } from "./signature.ts";

/** Stamps in a query: small numbers with points between them. */
const STAMPS = new RegExp(`^\\d{1,15}(\\.\\d{1,15}){0,${2 * MAX_STAMPS - 1}}$`);

const chunk = operation({
  method: "put",
  path: "/v1/hosts/{worker}/logs/{attempt}/{stream}",
  operationId: "putHostLog",
  tag: "Hosts",
  access: "host",
  codes: ["unknown_attempt", "enrollment_over", "forbidden", "no_bucket", "busy", "not_acknowledged"],
  summary: "Log bytes that are too large for a report",
  description:
    "Raw bytes of one stream from `offset` on, signed like a report. They are stored only if they continue " +
    "the stored bytes; in any case the answer says how far the stream is stored. With an empty body, the " +
    "request only asks for that.",
  request: {
    params: HostParams.extend({
      attempt: AttemptId.meta({ description: "the attempt's id, URL-encoded", example: "run/main/1.1" }),
      stream: z.enum(STREAMS),
    }),
    query: z.strictObject({
      offset: LogOffset.meta({ description: "the offset of the first byte in the stream" }),
      stamps: z
        .string()
        .regex(STAMPS, `must be at most ${2 * MAX_STAMPS} numbers with points between them`)
        .transform((text) => text.split(".").map(Number))
        .optional()
        .meta({
          type: "string",
          description: "when the bytes arrived, as `LogPiece.stamps` with points between the numbers",
          example: "120.5000.300.250",
        }),
      lines: LogOffset.optional().meta({ description: "how many newlines the bytes have" }),
    }),
    headers: SignatureHeaders,
    body: { content: { "application/octet-stream": { schema: z.string().meta({ format: "binary" }) } } },
  },
  responses: {
    200: jsonAnswer("how far the stream is stored", z.object({ stored: z.int() })),
  },
});

/** Adds the route by which hosts upload large logs (host-protocol.md#logs). */
export function hostLogRoutes(app: EdgeApp): void {
  app.openapi(chunk, async (c) => {
    const { worker, attempt, stream } = c.req.valid("param");
    const { offset: from, stamps, lines } = c.req.valid("query");
    const { digest } = await admit(c, "log", worker, attempt);
    try {
      const { body } = c.req.raw;
      const put = { worker, attempt, stream, from, length: lengthOf(c), digest, body, stamps, lines };
      return c.json({ stored: await c.env.objects.logs().put(put) }, 200);
    } catch (error) {
      await drainBody(c.req.raw);
      throw error;
    }
  });
}

/**
 * The announced length of the request. Exactly this much memory is reserved before the first byte is read.
 */
function lengthOf(c: EdgeContext): number {
  const text = c.req.header("content-length") ?? "";
  const length = Number(text);
  const limit = formatSize(MAX_LOG_CHUNK_BYTES);
  if (length > MAX_LOG_CHUNK_BYTES)
    throw new DroverError("body_too_large", `the chunk is too large; the limit is ${limit}`);
  if (/^\d{1,9}$/.test(text)) return length;
  const detail = `must be the length of the chunk, at most ${limit}`;
  throw invalid([{ pointer: "content-length:", detail }]);
}
