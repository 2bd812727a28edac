// What does a shell get for a line that is to be completed?
import type { Command } from "commander";
import type { Io } from "../terminal/io.ts";
import { cut, printable } from "../terminal/text.ts";
import { namesOf } from "./live.ts";
import { type Candidate, slotOf } from "./slot.ts";

/** The shells that completion is for. */
export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** A longer description would only be cut by the shell. */
const MOST_ABOUT_CHARS = 60;

/**
 * The answer to a shell (cli.md#completion). Its first line is `words`, `files`, `directories`, `commands` or
 * `nothing`. After `words`, each line is a word, and behind a tab what it means. `words`: those of the line
 * behind `drover`, up to the one that is to be completed.
 */
export async function answerFor(
  io: Io,
  program: Command,
  shell: Shell,
  words: readonly string[],
): Promise<string> {
  const { typed, prefix, candidates, kind, globals } = slotOf(
    program,
    shell === "bash" ? joined(words) : words,
  );
  const found = [...candidates];
  if (kind.of === "words") found.push(...kind.words.map((value) => ({ value, about: "" })));
  if (kind.of === "names") {
    const { "--state": state, "--context": context, "--project": project } = globals;
    found.push(...(await namesOf({ ...io, state, context, project }, kind.named)));
  }
  if (kind.of !== "words" && kind.of !== "names" && found.length === 0) return `${kind.of}\n`;
  const fitting = found.filter(({ value }) => value.startsWith(typed));
  // Bash completes only what stands behind the equals sign.
  return `words\n${fitting.map((one) => lineOf(one, shell === "bash" ? "" : prefix)).join("")}`;
}

function lineOf({ value, about }: Candidate, prefix: string): string {
  return `${prefix}${printable(value)}\t${cut(printable(about), MOST_ABOUT_CHARS)}\n`;
}

/** Bash takes `--pool=gpu` apart into three words. */
function joined(words: readonly string[]): string[] {
  const whole: string[] = [];
  for (const [at, word] of words.entries()) {
    const isPart = word === "=" || words[at - 1] === "=";
    if (isPart && whole.length > 0) whole.push(`${whole.pop()}${word}`);
    else whole.push(word);
  }
  return whole;
}
