// What does Ctrl-C mean to a command that stays with a run (decisions/command.md#interrupts)?
import { InvalidArgumentError } from "commander";
import { isAtTerminal, personAtTerminal } from "../terminal/ask.ts";
import type { Decide, Meaning } from "../terminal/interrupts.ts";
import type { Io } from "../terminal/io.ts";

/** An answer that is given in advance, by `--on-interrupt`. */
export type Answer = Exclude<Meaning, "go on">;

const MEANINGS: Record<string, Meaning> = { a: "abort", d: "detach", g: "go on" };

/** Reads `--on-interrupt`. */
export function onInterrupt(text: string): Answer {
  if (text === "abort" || text === "detach") return text;
  throw new InvalidArgumentError("It must be abort or detach.");
}

/**
 * How an interrupt is decided: by the answer that was given in advance, or by the person at the terminal.
 * `otherwise`: what it means where nobody can be asked. `quiet`: called before a question.
 */
export function decideBy(
  io: Io,
  run: string,
  { answer, otherwise }: { answer: Answer | undefined; otherwise: Answer },
  quiet: () => Promise<void>,
): Decide {
  return async (signal) => {
    if (answer !== undefined) return answer;
    // A closing terminal, or a system that ends this command, waits for no answer.
    if (signal !== "SIGINT" || !io.interactive || !isAtTerminal()) return otherwise;
    await quiet();
    const person = personAtTerminal("");
    try {
      await io.stderr.write("\n");
      const letter = await person.choose(`Run ${run}: go on, abort it, or detach?`, "gad");
      return MEANINGS[letter] ?? "go on";
    } catch {
      // Ctrl-C again, instead of an answer.
      return "abort";
    } finally {
      person.leave();
    }
  };
}
