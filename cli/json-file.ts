import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { CliError } from "./errors.ts";

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
    throw new CliError(`${file} is no JSON: ${error instanceof Error ? error.message : error}`);
  }
}
