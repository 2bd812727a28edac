// How is a person at a terminal asked something?
import { constants } from "node:os";
import { createInterface, type Interface } from "node:readline/promises";
import { Writable } from "node:stream";
import { CliError, exitCodeOfSignal } from "../errors.ts";
import { printable } from "./text.ts";

/** Somebody who answers. */
export interface Person {
  /** Asks for a line. An empty answer means the proposal, if there is one. */
  ask(question: string, proposal?: string): Promise<string>;
  /** Asks for one of some letters, of which the first is meant by an empty answer. */
  choose(question: string, letters: string): Promise<string>;
  /** Gives the terminal back. */
  leave(): void;
}

/** Whether somebody can be asked. */
export function isAtTerminal(): boolean {
  return process.stdin.isTTY === true;
}

/**
 * The person at the terminal of this process. Ctrl-C and Ctrl-D end the command with a `CliError`. `ending`:
 * what it says then.
 */
export function personAtTerminal(ending: string): Person {
  return personOf(ending, createInterface({ input: process.stdin, output: process.stderr }));
}

/**
 * Asks the person at the terminal for a line that is not shown. `ending`: what the command says if the person
 * ends it instead.
 */
export async function askSecret(question: string, ending: string): Promise<string> {
  // A terminal that Node edits lines for shows nothing by itself, and this shows nothing either.
  const output = new Writable({ write: (_bytes, _encoding, done) => done() });
  const person = personOf(ending, createInterface({ input: process.stdin, output, terminal: true }));
  process.stderr.write(`${question}: `);
  try {
    return await person.ask("");
  } finally {
    person.leave();
    process.stderr.write("\n");
  }
}

function personOf(ending: string, lines: Interface): Person {
  const ended = new Promise<never>((_, reject) => {
    lines.once("close", () => {
      const exitCode = exitCodeOfSignal(constants.signals.SIGINT);
      reject(new CliError(ending, [], exitCode));
    });
  });
  // Somebody waits for it only while a question is open.
  ended.catch(() => undefined);
  lines.on("SIGINT", () => lines.close());
  const ask = async (question: string, proposal?: string) => {
    const hint = proposal === undefined ? "" : ` [${printable(proposal)}]`;
    const answer = (await Promise.race([lines.question(`${question}${hint}: `), ended])).trim();
    return answer === "" ? (proposal ?? "") : answer;
  };
  return {
    ask,
    async choose(question, letters) {
      for (;;) {
        const answer = (await ask(`${question} [${letters.split("").join("/")}]`)).toLowerCase();
        const letter = answer === "" ? letters[0] : [...letters].find((one) => answer.startsWith(one));
        if (letter !== undefined) return letter;
      }
    },
    leave: () => lines.close(),
  };
}
