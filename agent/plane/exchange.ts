// How is a report sent by webhook, and which event does its answer become?
import type { Orders, Report, StreamName } from "../../src/schema/host.ts";
import { errorText } from "../../src/shared/words.ts";
import type { HostEvent } from "../core/events.ts";
import type { HostMessage } from "../core/messages.ts";
import { type ControlPlane, Refusal } from "./control-plane.ts";

type ReportMessage = Extract<HostMessage, { kind: "report" }>;

/** Reads log bytes; fewer if there are no more. */
export type ReadLog = (id: string, stream: StreamName, from: number, bytes: number) => Buffer;

/** Exit code of an agent that the control plane no longer accepts as this host. */
export const REFUSED_EXIT_CODE = 3;

/**
 * Sends one report and returns the answer as the event to apply. Never rejects. If aborted there is no event,
 * because a newer report is on its way.
 */
export async function exchangeReport(
  plane: ControlPlane,
  message: ReportMessage,
  readLog: ReadLog,
  signal: AbortSignal,
): Promise<{ event?: HostEvent; failure?: string }> {
  const { seq, waitMs, to } = message;
  const url = waitMs > 0 ? `${to}?wait=${waitMs}ms` : to;
  try {
    const answer = await plane.post(url, "report", bodyOf(message, readLog), signal);
    return { event: { type: "orders", seq, orders: ordersFrom(answer) } };
  } catch (error) {
    if (signal.aborted) return {};
    const event = error instanceof Refusal ? staleIf(error.status, error.message) : undefined;
    if (event !== undefined) return { event };
    const retryAfterMs = error instanceof Refusal ? error.retryAfterMs : undefined;
    const failed: HostEvent = { type: "report_failed", seq, random: Math.random() };
    const again = retryAfterMs === undefined ? failed : { ...failed, retryAfterMs };
    return { event: again, failure: errorText(error) };
  }
}

/** The event that ends the agent, if an answer with this status means that. */
export function staleIf(status: number, text: string): HostEvent | undefined {
  if (status !== 409 && status !== 410) return undefined;
  const reason = `the control plane no longer accepts this agent: ${text}`;
  return { type: "stale", code: REFUSED_EXIT_CODE, reason };
}

/** A report as sent, with the log bytes that it carries. */
export function bodyOf({ report, pieces }: ReportMessage, readLog: ReadLog): string {
  const attempts: Report["attempts"] = report.attempts.map((attempt) => ({
    ...attempt,
    ...(attempt.log === undefined ? {} : { log: { ...attempt.log } }),
  }));
  const byId = new Map(attempts.map((attempt) => [attempt.id, attempt]));
  for (const { id, stream, from, bytes } of pieces) {
    const log = byId.get(id)?.log;
    const piece = log?.[stream];
    if (log === undefined || piece === undefined) continue;
    log[stream] = { ...piece, from, data: readLog(id, stream, from, bytes).toString("base64") };
  }
  return JSON.stringify({ ...report, attempts });
}

/** Accepts orders only if they have the fields that the agent relies on. */
export function ordersFrom(answer: unknown): Orders {
  // The cast is checked right below, as far as the machine relies on it: a schema library would double the
  // memory.
  const orders = answer as Orders;
  const complete =
    Number.isInteger(orders?.incarnation) &&
    Number.isInteger(orders.revision) &&
    Number.isInteger(orders.answers) &&
    Array.isArray(orders.attempts) &&
    typeof orders.logs === "object" &&
    orders.logs !== null;
  if (!complete) throw new Error("The answer to a report is incomplete: is this the control plane?");
  return orders;
}
