// How is the output of a run copied to this process, with or without the times at which it arrived?
import type { Client } from "../../client/client.ts";
import type { LogSelection } from "../../client/runs/logs.ts";
import type { OutputPiece } from "../../client/runs/output.ts";
import { sayMissing } from "../missing-output.ts";
import type { Tail } from "../options.ts";
import type { Io } from "../terminal/io.ts";
import { PrefixedLines } from "../terminal/prefixed-lines.ts";
import type { Moment } from "./moment.ts";

/** Which output of a run to show, and how. */
export interface OutputFlags {
  follow?: boolean;
  stdout?: boolean;
  stderr?: boolean;
  tail?: Tail;
  since?: Moment;
  timestamps?: boolean;
  task: string;
  attempt?: string;
}

type StreamName = LogSelection["stream"];

/** What stands before a line whose time is not known. */
const NO_TIME = "-";

/**
 * Copies the output of a run: stdout to stdout and stderr to stderr, in the order in which it arrived. With
 * a prefix or with timestamps whole lines are written, else the bytes as they are.
 */
export async function copyOutput(
  io: Io,
  client: Client,
  id: string,
  flags: OutputFlags,
  prefix?: string,
): Promise<void> {
  const { task, attempt, follow, timestamps, since, tail: end } = flags;
  const both = flags.stdout === flags.stderr;
  const streams = (["stdout", "stderr"] as const).filter((stream) => both || flags[stream]);
  const lines = prefix !== undefined || timestamps === true;
  const to = {
    stdout: copierTo(io, "stdout", lines ? (prefix ?? "") : undefined),
    stderr: copierTo(io, "stderr", lines ? (prefix ?? "") : undefined),
  };
  const selection = { task, follow: follow === true, attempt, ...end };
  const [only, other] = streams;
  if (only !== undefined && other === undefined && timestamps !== true && since === undefined) {
    const bytes = client.runs.logs(id, { ...selection, stream: only });
    for await (const piece of bytes) await to[only].write(piece);
  } else {
    const doubts = new Doubts();
    const at = since && new Date(since.at(client.now())).toISOString();
    const stream = other === undefined ? only : undefined;
    for await (const piece of client.runs.output(id, { ...selection, stream, since: at })) {
      await to[piece.stream].write(piece.bytes, timestamps === true ? `${piece.at ?? NO_TIME} ` : "");
      doubts.note(piece);
    }
    if (timestamps === true || since !== undefined) await doubts.say(io, id);
  }
  for (const stream of streams) await to[stream].end();
  await sayMissing(io, await client.runs.get(id), task, [...streams]);
}

/** Where the bytes of a stream go. `stamp` stands before each line that these bytes end. */
interface Copier {
  write(bytes: Uint8Array, stamp?: string): Promise<void>;
  end(): Promise<void>;
}

/** Without a prefix, not even an empty one, bytes are copied as they are. */
function copierTo(io: Io, stream: StreamName, prefix: string | undefined): Copier {
  const { write } = io[stream];
  if (prefix !== undefined) return new PrefixedLines(prefix, write);
  return { write: (bytes) => write(bytes), end: async () => undefined };
}

/** What is not known of the times of shown output (api.md#arrivals). */
class Doubts {
  #isUnstamped = false;
  #gap: { after: string; at: string } | undefined;

  note({ at, after }: OutputPiece): void {
    if (at === null) this.#isUnstamped = true;
    else if (after !== null) this.#gap ??= { after, at };
  }

  async say(io: Io, id: string): Promise<void> {
    if (this.#isUnstamped) {
      await io.say(
        `When the output of run ${id} arrived is not known, because the agent of its machine does not ` +
          "say it. It is shown whole, without times, and without an order between stdout and stderr.",
      );
    }
    if (this.#gap === undefined) return;
    const { after, at } = this.#gap;
    await io.say(
      `Some times of run ${id} are too late: its agent did not run for a while, so output from ${after} on ` +
        `has the time at which the agent came back, such as ${at}.`,
    );
  }
}
