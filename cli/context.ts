import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type Client, createClient } from "../client/client.ts";
import { CliError } from "./errors.ts";
import type { Io } from "./io.ts";

/** Which Drover is meant. */
export interface Context {
  url: string;
  token: string;
  /** The file that `drover up` wrote: the machines of that Drover are processes on this machine. */
  file: string | undefined;
}

declare const DROVER_VERSION: string;

/** The client for the Drover that is meant here, or a `CliError` that says how to get one. */
export function connect(io: Io): { client: Client; context: Context } {
  const context = findContext(io);
  const { url, token } = context;
  return { client: createClient({ url, token, userAgent: `drover/${DROVER_VERSION}` }), context };
}

/**
 * Finds the Drover that is meant: `DROVER_URL` with `DROVER_TOKEN`, else `.drover/context.json` in this
 * directory or the nearest one above, as Git finds `.git`. `DROVER_TOKEN` alone replaces the file's token.
 *
 * `DROVER_URL` alone is an error: the token in the file belongs to another Drover and must not be sent to it.
 */
export function findContext(io: Pick<Io, "env" | "cwd">): Context {
  const url = io.env.DROVER_URL || undefined;
  const token = io.env.DROVER_TOKEN || undefined;
  if (url !== undefined) {
    if (token === undefined) {
      throw new CliError("DROVER_URL is set, but DROVER_TOKEN is not.", [
        "Set DROVER_TOKEN to a token of that Drover, or unset DROVER_URL to use a local one.",
      ]);
    }
    return { url: checkedUrl(url), token, file: undefined };
  }
  const found = readUpwards(io.cwd);
  if (found === undefined) {
    throw new CliError("No Drover found here.", [
      "Start one with `drover up`, or set DROVER_URL and DROVER_TOKEN.",
    ]);
  }
  return { ...found, token: token ?? found.token };
}

function checkedUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "http:" || url?.protocol === "https:") return text;
  throw new CliError(`DROVER_URL is not an http or https URL: ${text}`, [
    "Write it as https://drover.example.com",
  ]);
}

function readUpwards(start: string): { url: string; token: string; file: string } | undefined {
  for (let directory = resolve(start); ; directory = dirname(directory)) {
    const file = join(directory, ".drover", "context.json");
    const text = readIfThere(file);
    if (text !== undefined) return { ...parseContext(file, text), file };
    if (directory === dirname(directory)) return undefined;
  }
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new CliError(`Cannot read ${file}: ${error instanceof Error ? error.message : error}`, [
      "It belongs to whoever ran `drover up` there; set DROVER_URL and DROVER_TOKEN to use another Drover.",
    ]);
  }
}

function parseContext(file: string, text: string): { url: string; token: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  const sound =
    typeof value === "object" &&
    value !== null &&
    "url" in value &&
    typeof value.url === "string" &&
    URL.canParse(value.url) &&
    "token" in value &&
    typeof value.token === "string";
  if (!sound) {
    throw new CliError(`${file} is damaged.`, ["Stop that Drover and start it again with `drover up`."]);
  }
  // Checked field by field just above; the compiler does not carry that through the constant.
  return value as { url: string; token: string };
}
