// What is printed when a verb fails: what happened, why, and what to do.
import { basename, dirname, join } from "node:path";
import { ApiError, StrangerError, UnreachableError } from "../client/errors.ts";
import type { ServiceStatus } from "../client/types.ts";
import { freeBelow, fullDiskText, isFull } from "../disk/free.ts";
import { quoteArgv } from "../src/shared/shell-words.ts";
import { errorText } from "../src/shared/words.ts";
import type { Where } from "./config/choice.ts";
import { LOCAL } from "./config/config.ts";
import { type Context, DEFAULT_STATE_DIR, findContext } from "./context.ts";
import { CliError, EXIT } from "./errors.ts";
import { OutputClosed } from "./terminal/sink.ts";
import { printable } from "./terminal/text.ts";

/** This status and all higher statuses mean that Drover failed, not that the request was wrong. */
const FIRST_FAULT_STATUS = 500;

/** The lines that are printed for an error (perhaps none), and the exit code. */
export interface Explanation {
  lines: string[];
  exitCode: number;
}

/** Puts any error into words for a person. */
export function explain(error: unknown, io: Where): Explanation {
  if (error instanceof OutputClosed) return { lines: [], exitCode: error.exitCode };
  if (error instanceof CliError) return { lines: [error.message, ...error.hints], exitCode: error.exitCode };
  return { lines: wordsFor(error, io).map(printable), exitCode: EXIT.drover };
}

function wordsFor(error: unknown, io: Where): string[] {
  const chosen = chosenBy(io);
  if (error instanceof UnreachableError) {
    const what = `Drover at ${error.url} does not answer: ${error.reason}.`;
    return [what, ...fullDisk(chosen?.file), whatToStart(chosen)];
  }
  if (error instanceof StrangerError) {
    return [
      `The program listening on ${error.address} does not know your token.`,
      "Either it is not your Drover, or the token was revoked or has expired.",
      "Your token was not sent to it.",
      chosen?.file === undefined ? `Check ${sourceOf(chosen)}.` : whatToStart(chosen),
    ];
  }
  if (error instanceof ApiError) {
    const fields = error.errors.map(({ pointer, detail }) => `${pointer}: ${detail}`);
    if (error.status === 401) return [error.detail, whatToken(chosen)];
    if (error.status >= FIRST_FAULT_STATUS) return [error.detail, ...whatFailed(error, chosen?.file)];
    const isOfFields = error.code === "invalid_request" && fields.length > 0;
    return [isOfFields ? "Drover does not accept this:" : error.detail, ...fields];
  }
  return [errorText(error)];
}

/** What this machine knows about an internal error of Drover: a full disk, and where the log is. */
function whatFailed({ code, instance }: ApiError, file: string | undefined): string[] {
  if (code !== "internal") return fullDisk(file);
  const log = file === undefined ? "the log of that Drover" : join(dirname(file), "worker.log");
  return [...fullDisk(file), `Look for instance ${instance ?? "unknown"} in ${log}.`];
}

/** Names a full disk under a local Drover, since a full disk is the likely cause of the failure. */
function fullDisk(file: string | undefined): string[] {
  if (file === undefined) return [];
  const dir = dirname(file);
  const free = freeBelow(dir);
  return free !== undefined && isFull(free) ? [fullDiskText(dir, free)] : [];
}

function whatToStart(chosen: Context | undefined): string {
  if (chosen?.file === undefined) {
    return `Check ${isStored(chosen) ? sourceOf(chosen) : "DROVER_URL"} and the network.`;
  }
  const stateDir = dirname(chosen.file);
  const flag = basename(stateDir) === DEFAULT_STATE_DIR ? "" : ` --state ${quoteArgv([stateDir])}`;
  return `It was started by \`drover up\` (${chosen.file}). If it is no longer running: drover up${flag}`;
}

function whatToken(chosen: Context | undefined): string {
  if (chosen?.file !== undefined) return `The token is from ${chosen.file}.`;
  if (!isStored(chosen)) return "Check DROVER_TOKEN.";
  const login = `drover login ${chosen.url} --name ${chosen.name}`;
  return `The token is from ${sourceOf(chosen)}. To store another one: ${login}`;
}

/** Where URL and token come from that no `drover up` has written. */
function sourceOf(chosen: Context | undefined): string {
  return isStored(chosen) ? `the context \`${chosen.name}\`` : "DROVER_URL and DROVER_TOKEN";
}

/** Whether it is a context of the config file. */
function isStored(chosen: Context | undefined): chosen is Context {
  return chosen?.name !== undefined && chosen.name !== LOCAL;
}

/** The chosen Drover, if that can still be told. */
function chosenBy(io: Where): Context | undefined {
  try {
    return findContext(io);
  } catch {
    // The caller is already explaining another error.
    return undefined;
  }
}

/**
 * Names the pools for which a list may be incomplete. A pool without a configuration is new or deleted, so it
 * has nothing that could be missing.
 */
export function troublesOf(service: readonly ServiceStatus[]): string[] {
  return service
    .filter(({ initialized, healthy }) => initialized && !healthy)
    .map(({ pool, error }) =>
      printable(`Pool ${pool} is in trouble${error === undefined ? "." : `: ${error}`}`),
    );
}
