import type { Client } from "../../client/client.ts";
import { ApiError } from "../../client/errors.ts";
import type { RunEvent } from "../../client/types.ts";
import { colorsFor, type Io } from "../terminal/io.ts";
import type { Progress } from "../terminal/progress.ts";
import { printable } from "../terminal/text.ts";
import { PATIENCE } from "./patience.ts";

/** One stream of one attempt. */
export interface Copied {
  task: string;
  /** The end of its id, such as `1.2`; absent where an older Drover does not say it: the latest. */
  attempt?: string | undefined;
  stream: "stdout" | "stderr";
}

export interface Telling {
  io: Io;
  client: Client;
  run: string;
  /** The names of its tasks. */
  tasks: readonly string[];
  progress: Progress;
  leave: AbortSignal;
  /** Copies what an attempt writes, until it has ended; lines that are shown go through `teller`. */
  copy(what: Copied, teller: Teller): Promise<void>;
}

/** How long one question for further events is held. */
const EVENTS_WAIT_MS = 30_000;
/** Who events are said to be of that are of no task. No task can be called so. */
const WHOLE_RUN = "(run)";

/** Writes lines to stderr, each with the name of the task that it is of in front. */
export class Teller {
  readonly #telling: Pick<Telling, "io" | "tasks" | "progress">;
  readonly #width: number;

  constructor(telling: Pick<Telling, "io" | "tasks" | "progress">) {
    this.#telling = telling;
    this.#width = Math.max(WHOLE_RUN.length, ...telling.tasks.map(({ length }) => length));
  }

  /** What a task has written. */
  output(task: string, line: string): Promise<void> {
    return this.#telling.progress.write(`${this.#name(task)} | ${line}\n`);
  }

  /** What has happened to it. */
  event({ task, type, message, details }: RunEvent): Promise<void> {
    const attempt = attemptOf(details);
    const what = `${type}${attempt === undefined ? "" : ` (attempt ${attempt})`}: ${message}`;
    const { dim } = colorsFor(this.#telling.io.stderr);
    return this.#telling.progress.write(`${this.#name(task)} ${dim(`* ${printable(what)}`)}\n`);
  }

  #name(task: string | null): string {
    const { io, tasks } = this.#telling;
    const { dim, cyan, yellow, green, magenta, blue } = colorsFor(io.stderr);
    const hues = [cyan, yellow, green, magenta, blue];
    const color = (task !== null && hues[tasks.indexOf(task) % hues.length]) || dim;
    return color(printable(task ?? WHOLE_RUN).padEnd(this.#width));
  }
}

/**
 * Tells on stderr what happens to the tasks of a run, as it happens, and has the output of each attempt
 * copied from its start on: that of a task in the order of its attempts. Until the run has ended, and all is
 * copied.
 */
export async function tellStory(telling: Telling): Promise<void> {
  const { client, run, leave, progress } = telling;
  const teller = new Teller(telling);
  const copies = new Map<string, Promise<unknown>>();
  const begin = (task: string, attempt: string | undefined) => {
    const both = (["stdout", "stderr"] as const).map((stream) => ({ task, attempt, stream }));
    const before = copies.get(task) ?? Promise.resolve();
    const copying = before.then(() => Promise.all(both.map((one) => copyKept(telling, one, teller))));
    copying.catch(() => {}); // it is awaited in the end
    copies.set(task, copying);
  };
  let after = 0;
  for (let ended = false; !ended; ) {
    const waitMs = EVENTS_WAIT_MS;
    const page = await client.runs.events(run, { after, waitMs, signal: leave, patience: PATIENCE });
    for (const event of page.items) {
      const { seq, task, type, details } = event;
      await teller.event(event);
      after = seq;
      if (task === null || type !== "Started") continue;
      await progress.stop(); // what happens speaks for itself now
      const attempt = attemptOf(details);
      if (attempt !== undefined || !copies.has(task)) begin(task, attempt);
    }
    ended = page.ended;
  }
  await Promise.all(copies.values());
}

/** The end of the id of the attempt that an event is about. */
function attemptOf({ attempt }: RunEvent["details"]): string | undefined {
  return attempt?.split("/").at(-1);
}

/** Of many attempts only the latest are kept: one that has gone meanwhile is no reason to fail. */
async function copyKept({ io, copy }: Telling, what: Copied, teller: Teller): Promise<void> {
  try {
    await copy(what, teller);
  } catch (error) {
    const gone = error instanceof ApiError && ["unknown_task", "expired_logs"].includes(error.code);
    if (!gone) throw error;
    await io.say(
      `The ${what.stream} of an earlier attempt of ${what.task} (${what.attempt}) is not kept any more.`,
    );
  }
}
