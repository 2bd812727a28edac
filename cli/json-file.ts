import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { CliError } from "./errors.ts";
import { printable } from "./terminal/text.ts";

/** Reads a file, or `-` for standard input, that must hold one JSON object: `what` names it for people. */
export async function readJsonObject(file: string, what: string): Promise<object> {
  const value = parsed(file, await contentOf(file));
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new CliError(`${file} must hold one JSON object: ${what}.`);
}

async function contentOf(file: string): Promise<string> {
  try {
    return await (file === "-" ? text(process.stdin) : readFile(file, "utf8"));
  } catch (error) {
    throw new CliError(`Cannot read ${file}: ${error instanceof Error ? error.message : error}`);
  }
}

function parsed(file: string, content: string): unknown {
  try {
    return JSON.parse(content);
  } catch (error) {
    const { message } = error as SyntaxError; // `JSON.parse` throws nothing else
    const before = content.slice(0, offsetOf(content, message)).split("\n");
    const place = `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
    throw new CliError(`${file} is no JSON: ${printable(withoutPlace(message))} (${place}).`);
  }
}

/** What is wrong, without V8's own account of where: it differs from case to case, or is an excerpt. */
function withoutPlace(message: string): string {
  return message
    .replace(/( in JSON)? at position [\s\S]*$/, "")
    .replace(/, (\.\.\.)?"[\s\S]*is not valid JSON$/, "");
}

/** Where the text stops to be JSON. V8 says so of some faults; a wrong token is where a prefix gets one. */
function offsetOf(content: string, message: string): number {
  const said = / at position (\d+)/.exec(message)?.[1];
  if (said !== undefined) return Number(said);
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
