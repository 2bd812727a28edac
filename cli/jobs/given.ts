// What do flags give to a run of a job, and which flag is an error of the server about?
import { createReadStream } from "node:fs";
import { InvalidArgumentError } from "commander";
import { ApiError, UnreachableError } from "../../client/errors.ts";
import type { Job, JobParam, TriggerRequest } from "../../client/types.ts";
import { MAX_PAYLOAD_BYTES } from "../../src/shared/jobs/limits.ts";
import { formatSize } from "../../src/shared/size.ts";
import { errorText } from "../../src/shared/words.ts";
import { CliError } from "../errors.ts";
import { instantMs } from "../output/moment.ts";
import { printable } from "../terminal/text.ts";

/** The flags of `drover jobs trigger` that say what a run is given, as parsed. */
export interface GivenFlags {
  param?: Record<string, string>;
  meta?: Record<string, string>;
  payload?: string;
  priority?: number;
}

/** What a run is given: values have the types that the job declares. */
export async function givenTo(
  job: Pick<Job, "params">,
  { param = {}, meta, payload, priority }: GivenFlags,
): Promise<Pick<TriggerRequest, "params" | "meta" | "payload" | "priority">> {
  const declared = job.params ?? {};
  const params = Object.entries(param).map(([name, text]) => [name, asDeclared(declared[name], text)]);
  const content = payload === undefined ? undefined : (await payloadFrom(payload)).toString("base64");
  return { params: Object.fromEntries(params), meta, payload: content, priority };
}

/** A value as its parameter has it. A text that is no such value is sent as it is: the server refuses it. */
function asDeclared(param: JobParam | undefined, text: string): string | number | boolean {
  switch (param?.type) {
    case "integer":
      return /^-?\d+$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : text;
    case "number":
      return /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text) && Number.isFinite(Number(text))
        ? Number(text)
        : text;
    case "boolean":
      return text === "true" || text === "false" ? text === "true" : text;
    case "string":
    case undefined:
      return text;
  }
}

async function payloadFrom(file: string): Promise<Buffer> {
  const bytes = await bytesOf(file);
  if (bytes.length <= MAX_PAYLOAD_BYTES) return bytes;
  throw new CliError(
    `The payload is larger than ${formatSize(MAX_PAYLOAD_BYTES)}, the most that it may have.`,
    ["Upload it, and name it in a parameter: drover snapshots upload"],
  );
}

/** The bytes of a file, or more than a payload may have of one that is too large or has no end. */
async function bytesOf(file: string): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  try {
    for await (const part of file === "-" ? process.stdin : createReadStream(file)) {
      parts.push(part);
      size += part.length;
      if (size > MAX_PAYLOAD_BYTES) break;
    }
    return Buffer.concat(parts);
  } catch (error) {
    throw new CliError(`Cannot read ${printable(file)}: ${errorText(error)}`);
  }
}

/** Reads an instant with its offset, such as `drover jobs next` shows, and returns it in UTC. */
export function instant(text: string): string {
  const ms = instantMs(text);
  if (ms !== undefined) return new Date(ms).toISOString();
  throw new InvalidArgumentError(
    "It must be an instant with its offset, such as 2026-11-22T01:30:00Z or 2026-11-22T02:30:00+01:00.",
  );
}

const FLAGS: [prefix: string, flag: string][] = [
  ["/params", "--param"],
  ["/meta", "--meta"],
  ["/payload", "--payload"],
  ["/tick", "--tick"],
  ["/key", "--key"],
  ["/priority", "--priority"],
];

/** Puts a refused trigger into words, with fields named as on the command line. `run`: the id of its run. */
export function refusedTrigger(error: unknown, job: string, run: string): unknown {
  if (error instanceof ApiError && error.code === "run_exists") {
    return new CliError(`Run ${run} exists already, and was given something else.`, [
      `Choose another --key, or look at that run: drover status ${run}`,
    ]);
  }
  if (error instanceof ApiError && error.code === "invalid_request" && error.errors.length > 0) {
    const lines = error.errors.map(({ pointer, detail }) => `${flagOf(pointer)}: ${detail}`);
    return new CliError(`The job ${printable(job)} does not accept this:`, lines.map(printable));
  }
  if (error instanceof UnreachableError && !error.neverSent) {
    return new CliError(`Drover at ${error.url} does not answer: ${error.reason}.`, [
      `It may have made the run ${run}. When it answers again: drover status ${run}`,
    ]);
  }
  return error;
}

function flagOf(pointer: string): string {
  const found = FLAGS.find(([prefix]) => pointer === prefix || pointer.startsWith(`${prefix}/`));
  if (found === undefined) return pointer;
  const [prefix, flag] = found;
  return `${flag} ${pointer.slice(prefix.length + 1)}`.trim();
}
