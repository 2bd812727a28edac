import { basename, dirname } from "node:path";
import { ApiError, UnreachableError } from "../client/errors.ts";
import type { ServiceStatus } from "../client/types.ts";
import { quoteArgv } from "../src/core/shell-words.ts";
import { type Context, DEFAULT_STATE_DIR, findContext, type Where } from "./context.ts";
import { CliError, EXIT } from "./errors.ts";
import { OutputClosed } from "./sink.ts";
import { printable } from "./text.ts";

/** What is printed for an error, and what the command exits with. No lines: nothing is to be said. */
export interface Explanation {
  lines: string[];
  exitCode: number;
}

/** Puts an error into words: what happened, why, and what to do. */
export function explain(error: unknown, io: Where): Explanation {
  if (error instanceof OutputClosed) return { lines: [], exitCode: error.exitCode };
  if (error instanceof CliError) return { lines: [error.message, ...error.hints], exitCode: error.exitCode };
  return { lines: wordsFor(error, io).map(printable), exitCode: EXIT.drover };
}

function wordsFor(error: unknown, io: Where): string[] {
  if (error instanceof UnreachableError) {
    return [`Drover at ${error.url} does not answer: ${error.reason}.`, whatToStart(contextOf(io))];
  }
  if (error instanceof ApiError) {
    const fields = error.errors.map(({ pointer, detail }) => `${pointer}: ${detail}`);
    if (error.status === 401) return [error.detail, whatToken(contextOf(io))];
    const isOfFields = error.code === "invalid_request" && fields.length > 0;
    return [isOfFields ? "Drover does not accept this:" : error.detail, ...fields];
  }
  return [error instanceof Error ? error.message : String(error)];
}

function whatToStart(context: Context | undefined): string {
  if (context?.file === undefined) return "Check DROVER_URL and the network.";
  const stateDir = dirname(context.file);
  const flag = basename(stateDir) === DEFAULT_STATE_DIR ? "" : ` --state ${quoteArgv([stateDir])}`;
  return `It was started by \`drover up\` (${context.file}). If it is not running any more: drover up${flag}`;
}

function whatToken(context: Context | undefined): string {
  if (context?.file === undefined) return "Check DROVER_TOKEN.";
  return `The token is from ${context.file}, or from DROVER_TOKEN if that is set.`;
}

function contextOf(io: Where): Context | undefined {
  try {
    return findContext(io);
  } catch {
    // The error to be told is another one.
    return undefined;
  }
}

/** Says of which pools a list may be incomplete. */
export function troublesOf(service: readonly ServiceStatus[]): string[] {
  return service
    .filter(({ healthy }) => !healthy)
    .map(({ pool, error }) =>
      printable(`Pool ${pool} is in trouble${error === undefined ? "." : `: ${error}`}`),
    );
}
