// How `drover run` shows a group: the events and output of its tasks, line by line on stderr.
import type { Client } from "../../client/client.ts";
import { ApiError } from "../../client/errors.ts";
import type { RunEvent } from "../../client/types.ts";
import { colorsFor, type Io } from "../terminal/io.ts";
import type { Progress } from "../terminal/progress.ts";
import { printable } from "../terminal/text.ts";
import { PATIENCE } from "./patience.ts";

/** One stream of one attempt. */
export interface AttemptStream {
  task: string;
  /** The end of the attempt's id, such as `1.2`; the latest attempt if absent. */
  attempt?: string | undefined;
  stream: "stdout" | "stderr";
}

export interface Story {
  io: Io;
  client: Client;
  run: string;
  /** The names of the run's tasks. */
  tasks: readonly string[];
  /** Only the output of the tasks is shown, and no events. */
  isQuiet: boolean;
  progress: Progress;
  leave: AbortSignal;
  /** Copies an attempt's output until the attempt has ended. Lines for stderr go through `printer`. */
  copy(what: AttemptStream, printer: StoryPrinter): Promise<void>;
}

/** Shown in place of a task's name for events of the whole run. No task can have this name. */
const WHOLE_RUN = "(run)";

/** Writes lines to stderr, each prefixed with the name of its task. */
export class StoryPrinter {
  readonly #story: Pick<Story, "io" | "tasks" | "progress">;
  readonly #width: number;

  constructor(story: Pick<Story, "io" | "tasks" | "progress">) {
    this.#story = story;
    this.#width = Math.max(WHOLE_RUN.length, ...story.tasks.map(({ length }) => length));
  }

  /** Shows one line of a task's output. */
  output(task: string, line: string): Promise<void> {
    return this.#story.progress.write(`${this.#name(task)} | ${line}\n`);
  }

  /** Shows an event. */
  event({ task, type, message, details }: RunEvent): Promise<void> {
    const attempt = attemptOf(details);
    const what = `${type}${attempt === undefined ? "" : ` (attempt ${attempt})`}: ${message}`;
    const { dim } = colorsFor(this.#story.io.stderr);
    return this.#story.progress.write(`${this.#name(task)} ${dim(`* ${printable(what)}`)}\n`);
  }

  #name(task: string | null): string {
    const { io, tasks } = this.#story;
    const { dim, cyan, yellow, green, magenta, blue } = colorsFor(io.stderr);
    const hues = [cyan, yellow, green, magenta, blue];
    const color = (task !== null && hues[tasks.indexOf(task) % hues.length]) || dim;
    return color(printable(task ?? WHOLE_RUN).padEnd(this.#width));
  }
}

/**
 * Shows the events of a run on stderr as they happen, and copies the output of each attempt from its start.
 * The attempts of one task are copied one after the other. Resolves when the run has ended and all output is
 * copied.
 */
export async function printStory(story: Story): Promise<void> {
  const { client, run, leave, progress, isQuiet } = story;
  const printer = new StoryPrinter(story);
  const copies = new Map<string, Promise<unknown>>();
  const begin = (task: string, attempt: string | undefined) => {
    const both = (["stdout", "stderr"] as const).map((stream) => ({ task, attempt, stream }));
    const before = copies.get(task) ?? Promise.resolve();
    const copying = before.then(() => Promise.all(both.map((one) => copyIfKept(story, one, printer))));
    copying.catch(() => {}); // awaited at the end
    copies.set(task, copying);
  };
  for await (const event of client.runs.watch(run, { signal: leave, patience: PATIENCE })) {
    const { task, type, details } = event;
    if (!isQuiet) await printer.event(event);
    if (task === null || type !== "Started") continue;
    await progress.stop(); // events now say what happens
    const attempt = attemptOf(details);
    if (attempt !== undefined || !copies.has(task)) begin(task, attempt);
  }
  await Promise.all(copies.values());
}

/** The end of the id of the event's attempt. */
function attemptOf({ attempt }: RunEvent["details"]): string | undefined {
  return attempt?.split("/").at(-1);
}

/** What is answered about an attempt, or its output, that is no longer kept. */
const GONE: readonly string[] = ["unknown_task", "unknown_attempt", "expired_logs"];

/** Copies an attempt's output. A missing attempt is not an error: only the latest attempts are kept. */
async function copyIfKept({ io, copy }: Story, what: AttemptStream, printer: StoryPrinter): Promise<void> {
  try {
    await copy(what, printer);
  } catch (error) {
    if (!(error instanceof ApiError && GONE.includes(error.code))) throw error;
    await io.say(
      `The ${what.stream} of an earlier attempt of ${what.task} (${what.attempt}) is no longer kept.`,
    );
  }
}
