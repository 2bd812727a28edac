import { createHash } from "node:crypto";
import type { RunEvent, RunStatus } from "../../../src/schema/run/run.ts";
import { isTerminal } from "../../../src/shared/run-state.ts";
import type { RunningDrover } from "../../edge/support/drover.ts";

/** All that a user can see of a run that has ended. */
interface End {
  status: RunStatus;
  events: RunEvent[];
  stdout: string;
}

/**
 * The ends of runs that users have seen. Once seen, an end never changes, whatever crashes afterwards
 * (invariants 1 and 9, rule R1).
 */
export class Told {
  readonly #ends = new Map<string, End>();
  #readings = 0;

  get ended(): number {
    return this.#ends.size;
  }

  get readings(): number {
    return this.#readings;
  }

  statusOf(id: string): RunStatus | undefined {
    return this.#ends.get(id)?.status;
  }

  /**
   * Reads a run, and lists in words what has changed since its end was first seen: nothing may have changed.
   * Only a report that contradicts it may have been recorded.
   */
  async read(up: RunningDrover, id: string): Promise<{ status: RunStatus; changes: string[] }> {
    const status: RunStatus = await up.json(200, "GET", `/v1/runs/${id}`);
    const before = this.#ends.get(id);
    if (!isTerminal(status.state)) {
      return { status, changes: before === undefined ? [] : [`${id} is ${status.state} again`] };
    }
    const { items } = await up.json(200, "GET", `/v1/runs/${id}/events`);
    const log = await up.call("GET", `/v1/runs/${id}/logs/main/stdout`);
    if (!log.ok && log.status !== 404) throw new Error(`the log of ${id} has the status ${log.status}`);
    // A run that never began has no logs to show.
    const bytes = log.status === 404 ? Buffer.alloc(0) : Buffer.from(await log.arrayBuffer());
    const end = { status, events: items, stdout: createHash("sha256").update(bytes).digest("hex") };
    this.#readings += 1;
    if (before === undefined) this.#ends.set(id, end);
    return { status, changes: before === undefined ? [] : changesOf(before, end) };
  }
}

function changesOf(before: End, after: End): string[] {
  const { id } = before.status;
  const changes: string[] = [];
  for (const part of [
    "state",
    "exitCode",
    "signal",
    "failure",
    "abort",
    "startedAt",
    "finishedAt",
  ] as const) {
    const [was, is] = [JSON.stringify(before.status[part]), JSON.stringify(after.status[part])];
    if (was !== is) changes.push(`${part} of ${id} was ${was} and is ${is}`);
  }
  if (before.stdout !== after.stdout) changes.push(`the output of ${id} has changed`);
  const kept = after.events.slice(0, before.events.length);
  if (JSON.stringify(kept) !== JSON.stringify(before.events))
    changes.push(`the events of ${id} have changed`);
  for (const { type } of after.events.slice(before.events.length)) {
    if (type !== "Late Report") changes.push(`${id} had ended, and then came the event ${type}`);
  }
  return changes;
}
