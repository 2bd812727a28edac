// Does a port of a task take a connection, and how does the task answer a request (health.md#http)?
import { request } from "node:http";
import { connect } from "node:net";
import type { CheckProbe } from "../../../src/schema/run/checks.ts";
import type { Millis } from "../../../src/shared/machine.ts";
import type { CheckLevel, CheckResult } from "../../core/checks/results.ts";
import { critical, late, PASSING, unreached } from "./outcome.ts";

/** How much of the answer to a failed request is read. */
const MAX_BODY_BYTES = 1_024;

/** The address of an attempt, and for how long a try may take. */
export interface Reach {
  address: string;
  timeoutMs: Millis;
  /** Ends the try. */
  signal: AbortSignal;
}

type ProbeOf<Kind extends string> = Extract<CheckProbe, Record<Kind, unknown>>;

/** Connects to a port, and closes the connection at once (health.md#tcp). Never rejects. */
export function tryTcp(
  { tcp: { port } }: ProbeOf<"tcp">,
  { address, timeoutMs, signal }: Reach,
): Promise<CheckResult> {
  const at = `${address}:${port}`;
  return new Promise((resolve) => {
    const socket = connect({ host: address, port, signal });
    const done = (result: CheckResult) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(result);
    };
    const timer = setTimeout(() => done(late(`${at} has not taken a connection`, timeoutMs)), timeoutMs);
    socket.once("connect", () => done(PASSING));
    socket.once("error", (error) => done(unreached(error, at)));
  });
}

/** Sends a request, and judges its status. Follows no redirect. Never rejects. */
export function tryHttp({ http }: ProbeOf<"http">, reach: Reach): Promise<CheckResult> {
  const { address, timeoutMs, signal } = reach;
  const { port, path, method, headers, status } = http;
  const at = `${address}:${port}`;
  const what = `${method} http://${at}${path}`;
  return new Promise((resolve) => {
    const options = { host: address, port, path, method, signal, agent: false as const };
    const sent = request({ ...options, headers: { "user-agent": "drover-check", ...headers } });
    let onTime = () => done(late(`${what} was not answered`, timeoutMs));
    const timer = setTimeout(() => onTime(), timeoutMs);
    const done = (result: CheckResult) => {
      clearTimeout(timer);
      sent.destroy();
      resolve(result);
    };
    sent.on("error", (error) => done(unreached(error, at)));
    sent.once("response", (answer) => {
      const { statusCode = 0 } = answer;
      const level = levelOf(statusCode, status);
      if (level === "passing") return done(PASSING);
      const wanted = status === undefined ? "2xx" : String(status);
      const parts: Buffer[] = [];
      const failed = () => {
        const body = Buffer.concat(parts).subarray(0, MAX_BODY_BYTES);
        // Half a character at the end is left out: it would hide that a secret begins there.
        const output = new TextDecoder().decode(body, { stream: true });
        done({ ...critical(`${what} was answered with ${statusCode} instead of ${wanted}`, output), level });
      };
      // What has come by then is enough.
      onTime = failed;
      answer.on("data", (part: Buffer) => {
        parts.push(part);
        if (parts.reduce((sum, { length }) => sum + length, 0) >= MAX_BODY_BYTES) failed();
      });
      answer.once("end", failed);
      answer.once("error", failed);
    });
    sent.end();
  });
}

/** What a status means (health.md#http). */
function levelOf(status: number, only: number | undefined): CheckLevel {
  if (only !== undefined) return status === only ? "passing" : "critical";
  if (status >= 200 && status < 300) return "passing";
  return status === 429 ? "warning" : "critical";
}
