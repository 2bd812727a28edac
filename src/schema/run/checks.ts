// How is a task checked while it runs, and when does a failing check restart it (health.md#spec)?
import { z } from "zod";
import { formatDuration, parseDuration } from "../../shared/duration.ts";
import {
  CHECK_NAME_PATTERN,
  CHECK_STATUSES,
  HEALTHS,
  MAX_CHECK_TIMEOUT_MS,
  MAX_CHECKS,
  MIN_CHECK_INTERVAL_MS,
  MIN_CHECK_TIMEOUT_MS,
} from "../../shared/health/words.ts";
import { Duration, InstantText, ProcessText } from "../common.ts";

const Port = z.int().min(1, "must be a port: 1 to 65535").max(65_535, "must be a port: 1 to 65535");

/** The longest list of arguments of a check's command, and the most headers of a request. */
const MAX_CHECK_ARGS = 64;
const MAX_HEADERS = 32;

const PATH_ERROR = "must begin with / and have no spaces or control characters";

const HeaderValue = z
  .string()
  .max(1_024)
  .regex(/^[\t\x20-\x7e]*$/, "must have visible ASCII characters, spaces and tabs only");

/** A request to the task. 2xx passes, 429 warns, anything else is critical (health.md#http). */
export const HttpCheck = z
  .strictObject({
    port: Port,
    path: z
      .string()
      .max(2_048)
      .regex(/^\/[\x21-\x7e]*$/, PATH_ERROR)
      .default("/"),
    method: z.enum(["GET", "HEAD", "OPTIONS", "POST"]).default("GET"),
    status: z
      .int()
      .min(200)
      .max(599)
      .optional()
      .describe("the only status that passes; if absent, 2xx passes and 429 warns"),
    headers: z
      .record(
        z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/, "must be a name of a header"),
        HeaderValue,
      )
      .refine((map) => Object.keys(map).length <= MAX_HEADERS, `must have at most ${MAX_HEADERS} entries`)
      .optional(),
  })
  .meta({ id: "HttpCheck" });

const isBetween = (text: string, leastMs: number, mostMs: number) => {
  const ms = parseDuration(text) ?? leastMs;
  return ms >= leastMs && ms <= mostMs;
};

/** How many results in a row change a status, or restart a task. */
const Count = z.int().min(1).max(100);

/** One check of a task: exactly one of `http`, `tcp` and `command` (health.md#spec). */
export const CheckInput = z
  .strictObject({
    name: z.string().regex(CHECK_NAME_PATTERN, "must be 1 to 63 lower-case letters, digits and dashes"),
    http: HttpCheck.optional(),
    tcp: z
      .strictObject({ port: Port })
      .meta({ id: "TcpCheck" })
      .optional()
      .describe("passes if the port takes a connection"),
    command: z
      .strictObject({
        argv: z
          .array(ProcessText)
          .min(1, "must name a command")
          .max(MAX_CHECK_ARGS)
          .refine((argv) => argv[0] !== "", "must begin with the name of a command"),
      })
      .meta({ id: "CommandCheck" })
      .optional()
      .describe("runs beside the task, as its user: exit code 0 passes, 1 warns, any other is critical"),
    interval: Duration.refine(
      (text) => isBetween(text, MIN_CHECK_INTERVAL_MS, Number.POSITIVE_INFINITY),
      `must be at least ${formatDuration(MIN_CHECK_INTERVAL_MS)}`,
    )
      .default("10s")
      .describe("from the begin of one try to the begin of the next"),
    timeout: Duration.refine(
      (text) => isBetween(text, MIN_CHECK_TIMEOUT_MS, MAX_CHECK_TIMEOUT_MS),
      `must be ${formatDuration(MIN_CHECK_TIMEOUT_MS)} to ${formatDuration(MAX_CHECK_TIMEOUT_MS)}`,
    )
      .default("5s")
      .describe("a try that takes longer has failed, and is ended"),
    passAfter: Count.default(1).describe("so many good results in a row make it `passing`"),
    failAfter: Count.default(3).describe("so many bad results in a row make it `critical` or `warning`"),
    startPeriod: Duration.default("0s").describe(
      "for so long after the start, or until the first good result, bad results do not count",
    ),
  })
  .refine(({ http, tcp, command }) => [http, tcp, command].filter(Boolean).length === 1, {
    error: "must have exactly one of `http`, `tcp` and `command`",
  })
  .meta({ id: "Check", example: { name: "http", http: { port: 8080, path: "/healthz" } } });
export type CheckInput = z.output<typeof CheckInput>;

/** The checks of a task. */
export const Checks = z
  .array(CheckInput)
  .min(1, "must have at least 1 entry")
  .max(MAX_CHECKS, `must have at most ${MAX_CHECKS} entries`)
  .describe("how the task is checked while it runs");

/** When a failing check restarts its task (health.md#restart). */
export const CheckRestartInput = z
  .strictObject({
    limit: Count.describe("so many bad results of one check in a row"),
    grace: Duration.default("1s").describe("for so long after the start of the task nothing counts"),
    ignoreWarnings: z.boolean().default(false),
  })
  .meta({ id: "CheckRestart" });
export type CheckRestartInput = z.output<typeof CheckRestartInput>;

/** What a try does. */
export type CheckProbe =
  | { http: Omit<z.output<typeof HttpCheck>, "headers"> & { headers?: Record<string, string> } }
  | { tcp: { port: number } }
  | { command: { argv: string[] } };

/** One check as its host needs it. */
export interface CheckSpec {
  name: string;
  probe: CheckProbe;
  intervalMs: number;
  timeoutMs: number;
  passAfter: number;
  failAfter: number;
  startPeriodMs: number;
}

/** When a failing check restarts its task, as the host needs it. */
export interface CheckRestart {
  limit: number;
  graceMs: number;
  ignoreWarnings: boolean;
}

export const CheckWord = z.enum(CHECK_STATUSES).meta({ id: "CheckWord" });

/** What readers see of one check (health.md#status). */
export const CheckView = z
  .object({
    name: z.string(),
    status: CheckWord,
    since: InstantText.nullable().describe("null: nothing was heard of it yet"),
    output: z.string().optional().describe("what its latest failure said; absent: none was reported"),
  })
  .meta({ id: "CheckStatus" });
export type CheckView = z.infer<typeof CheckView>;

export const RunHealth = z
  .enum(HEALTHS)
  .describe("what the checks of the run's tasks say together")
  .meta({ id: "RunHealth" });
