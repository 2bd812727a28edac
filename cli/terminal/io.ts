import { createColors } from "picocolors";
import { OutputClosed, type Sink, sinkOf } from "./sink.ts";
import { printable } from "./text.ts";

/** What a verb knows of the process that it runs in. */
export interface Io {
  env: NodeJS.ProcessEnv;
  cwd: string;
  /** `drover --state`: the state directory of the Drover that is meant. */
  state?: string | undefined;
  stdout: Sink;
  stderr: Sink;
  /** A person watches: what is going on may be drawn, and erased again. */
  interactive: boolean;
  /** One line for a person, on stderr, that acts on no terminal. What stdout carries is for programs. */
  say(line: string): Promise<void>;
}

/** The real one. */
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
        // What nobody is there to read need not be said, and must not change what else is done.
        if (!(error instanceof OutputClosed)) throw error;
      }
    },
  };
}

/** Colors for what is written to this sink: functions that do nothing where none are wanted. */
export function colorsFor(sink: Sink) {
  return createColors(sink.color);
}
