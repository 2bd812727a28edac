// What a verb sees of its process: environment, directory, output.
import { createColors } from "picocolors";
import { OutputClosed, type Sink, sinkOf } from "./sink.ts";
import { printable } from "./text.ts";

/** The process as a verb sees it; tests pass their own. */
export interface Io {
  env: NodeJS.ProcessEnv;
  cwd: string;
  /** `drover --state`: the state directory of the Drover to use. */
  state?: string | undefined;
  /** `drover --context`: the name of the context to use. */
  context?: string | undefined;
  /** `drover --project`: the project to act in, for a caller that belongs to none. */
  project?: string | undefined;
  stdout: Sink;
  stderr: Sink;
  /** Whether a person is watching, so that progress may be drawn and erased. */
  interactive: boolean;
  /** Writes one line for a person to stderr, with control characters escaped. stdout is for programs. */
  say(line: string): Promise<void>;
}

/** The `Io` of this process. */
export function ioOfProcess(): Io {
  const { env } = process;
  const stdout = sinkOf(process.stdout, env);
  const stderr = sinkOf(process.stderr, env);
  return {
    env,
    cwd: process.cwd(),
    stdout,
    stderr,
    interactive: stderr.isTerminal && (env.CI ?? "") === "",
    say: async (line) => {
      try {
        await stderr.write(`drover: ${printable(line)}\n`);
      } catch (error) {
        // If stderr is closed, the command goes on without it.
        if (!(error instanceof OutputClosed)) throw error;
      }
    },
  };
}

/** The same process, to which a verb says nothing but errors (cli.md#quiet). */
export function quietly(io: Io): Io {
  return { ...io, interactive: false, say: async () => {} };
}

/** Color functions for a sink; they do nothing if the sink has no color. */
export function colorsFor(sink: Sink) {
  return createColors(sink.color);
}
