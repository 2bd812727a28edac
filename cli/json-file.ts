// How a verb reads the JSON object in the file that `-f` names, and how it finds the place of a mistake.
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { errorText } from "../src/shared/words.ts";
import { CliError } from "./errors.ts";
import { printable } from "./terminal/text.ts";

/** Reads one JSON object from a file, or from standard input for `-`. `what` names the object in errors. */
export async function readJsonObject(file: string, what: string): Promise<object> {
  const value = await readJson(file);
  if (isObject(value)) return value;
  throw new CliError(`${file} must hold one JSON object: ${what}.`);
}

/** Reads any JSON value from a file, or from standard input for `-`. */
export async function readJson(file: string): Promise<unknown> {
  return parseJson(file, await contentOf(file));
}

/** Whether a JSON value is an object, and no list. */
export function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The pool in a file: its name, `default` if the file has none, and the rest, which nobody has checked. */
export async function readPoolFile(file: string): Promise<{ name: string; content: object }> {
  const read: { name?: unknown } = await readJsonObject(file, "the configuration of a pool");
  const { name = "default", ...content } = read;
  return { name: String(name), content };
}

/** The text of a file, or standard input for `-`. Throws a `CliError` if it cannot be read. */
export async function contentOf(file: string): Promise<string> {
  try {
    return await (file === "-" ? text(process.stdin) : readFile(file, "utf8"));
  } catch (error) {
    throw new CliError(`Cannot read ${file}: ${errorText(error)}`);
  }
}

function parseJson(file: string, content: string): unknown {
  try {
    return JSON.parse(content);
  } catch (error) {
    const { text, line, column } = jsonFault(content, error as SyntaxError); // `JSON.parse` throws only this
    throw new CliError(`${file} is not valid JSON: ${text} (line ${line}, column ${column}).`);
  }
}

/** Why a text is not JSON, and where (from 1 on), by what `JSON.parse` has thrown for it. */
export function jsonFault(
  content: string,
  { message }: SyntaxError,
): { text: string; line: number; column: number } {
  const before = content.slice(0, offsetOf(content, message)).split("\n");
  return {
    text: printable(withoutPlace(message)),
    line: before.length,
    column: (before.at(-1)?.length ?? 0) + 1,
  };
}

/** V8's message without its position, which is sometimes an offset and sometimes an excerpt. */
function withoutPlace(message: string): string {
  return message
    .replace(/( in JSON)? at position [\s\S]*$/, "")
    .replace(/, (\.\.\.)?"[\s\S]*is not valid JSON$/, "");
}

/**
 * The offset at which the text stops being JSON. V8 reports the offset of some faults. For a wrong token, a
 * bisection finds the shortest prefix that has the fault.
 */
function offsetOf(content: string, message: string): number {
  const position = / at position (\d+)/.exec(message)?.[1];
  if (position !== undefined) return Number(position);
  if (!hasWrongToken(content)) return content.length;
  let [fine, wrong] = [0, content.length];
  while (wrong - fine > 1) {
    const middle = Math.floor((fine + wrong) / 2);
    if (hasWrongToken(content.slice(0, middle))) wrong = middle;
    else fine = middle;
  }
  return fine;
}

function hasWrongToken(text: string): boolean {
  try {
    JSON.parse(text);
    return false;
  } catch (error) {
    return error instanceof Error && error.message.startsWith("Unexpected token");
  }
}
