// Which run does a person mean by the beginning of an id, or by `-` (api.md#prefixes)?
import type { Client } from "../../client/client.ts";
import { ApiError } from "../../client/errors.ts";
import type { RunFilter } from "../../client/runs/run-lists.ts";
import type { RunSummary } from "../../client/types.ts";
import { RUN_ID_PREFIX } from "../../src/shared/attempt-id.ts";
import { CliError } from "../errors.ts";
import { troublesOf } from "../explain.ts";
import type { Io } from "../terminal/io.ts";
import { table } from "../terminal/text.ts";

/** Names the latest run that this token has submitted. */
export const LAST = "-";

/** How many of the runs that a beginning fits are shown. */
const SHOWN_RUNS = 10;

/** The text for the argument of a verb, for its help. */
export const RUN_TEXT = "the run's id, the beginning of it, or - for the last run of yours";
export const RUNS_TEXT = "the ids of the runs, or their beginnings; - is the last run of yours";

/** Who asks. `changes`: the verb changes the run, so without a person it takes no beginning of an id. */
export interface Asking {
  io: Pick<Io, "interactive">;
  client: Pick<Client, "runs">;
  changes?: boolean;
}

/**
 * Does `work` with the id of the run that is meant by `text`. A whole id is passed on as it is, and only if
 * there is no such run, runs whose ids begin so are looked for, and `work` is called again. So `work` must
 * begin with a call that rejects for an unknown run. Throws a `CliError` if several runs may be meant.
 */
export function withRun<Result>(
  asking: Asking,
  text: string,
  work: (id: string) => Promise<Result>,
): Promise<Result> {
  return withRuns(asking, [text], ([id = text]) => work(id));
}

/** The id of the run that is meant, which is read. For work whose input can be read only once. */
export async function meantRun(asking: Asking, text: string): Promise<string> {
  return withRun(asking, text, async (id) => (await asking.client.runs.get(id)).id);
}

/** The same for several runs, with which `work` is called at once. */
export async function withRuns<Result>(
  asking: Asking,
  texts: readonly string[],
  work: (ids: string[]) => Promise<Result>,
): Promise<Result> {
  const ids = await Promise.all(texts.map((text) => (text === LAST ? lastRun(asking) : text)));
  try {
    return await work(ids);
  } catch (error) {
    if (!(error instanceof ApiError && error.code === "unknown_run")) throw error;
    const isUnknown = (id: string) =>
      error.runs.length === 0 || error.runs.some((run) => run === id || run.endsWith(`.${id}`));
    const found = await Promise.all(
      ids.map((id) => (isUnknown(id) ? runLike(asking, id).catch(idIfRefused(id)) : id)),
    );
    if (found.every((id, at) => id === ids[at])) throw error;
    return await work(found);
  }
}

/**
 * Without a right to list runs, or at a server that knows no prefixes, the text stays what it is: the error
 * about the unknown run says more than that of the list.
 */
function idIfRefused(id: string): (error: unknown) => string {
  return (error) => {
    if (error instanceof ApiError && !error.temporary) return id;
    throw error;
  };
}

/** The id of the latest run that this token has submitted. Throws a `CliError` if there is none. */
export async function lastRun(asking: Asking): Promise<string> {
  const [last] = await search(asking, { mine: true, limit: 1 });
  if (last !== undefined) return last.id;
  throw new CliError("`-` is the last run that you have submitted, and there is none.", [
    "See the runs of others, too: drover ps --all",
  ]);
}

/** The id of the only run whose id begins so; if there is none, the text. Throws if there are several. */
async function runLike(asking: Asking, beginning: string): Promise<string> {
  if (!RUN_ID_PREFIX.test(beginning)) return beginning;
  const runs = await search(asking, { prefix: beginning, limit: SHOWN_RUNS + 1 });
  const [only] = runs;
  if (only === undefined) return beginning;
  if (runs.length > 1) {
    const more = runs.length > SHOWN_RUNS ? ["…and others."] : [];
    throw new CliError(`Several runs have an id that begins with ${beginning}:`, [
      ...linesOf(runs.slice(0, SHOWN_RUNS)),
      ...more,
      "Write more of the id.",
    ]);
  }
  if (asking.changes !== true || asking.io.interactive) return only.id;
  throw new CliError(`There is no run ${beginning}. One has an id that begins so:`, [
    ...linesOf([only]),
    "Write its whole id: only on a terminal is the beginning enough for what changes a run.",
  ]);
}

/** Runs, newest first. Throws a `CliError` if some may be missing: the one that is found could be another. */
async function search({ client }: Asking, filter: RunFilter): Promise<RunSummary[]> {
  const { items, service } = await client.runs.list({ ...filter, states: ["all"] });
  const troubles = troublesOf(service);
  if (troubles.length === 0) return items;
  throw new CliError("It is not certain which run is meant, since not all runs can be seen.", [
    ...troubles,
    "Write its whole id.",
  ]);
}

function linesOf(runs: readonly RunSummary[]): string[] {
  const rows = runs.map(({ id, state, submittedAt, command }) => [id, state, submittedAt, command]);
  const [, ...lines] = table(["RUN", "STATE", "SUBMITTED", "COMMAND"], rows, MAX_LINE_CHARS).split("\n");
  return lines.filter((line) => line !== "");
}

/** Commands are cut, so that a line stays one line. */
const MAX_LINE_CHARS = 100;
