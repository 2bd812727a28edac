// Which runs does the file of `drover run -f` describe: one, or many?
import { MAX_BATCH_RUNS } from "../../../src/shared/limits.ts";
import { CliError } from "../../errors.ts";
import { isObject, readJson } from "../../json-file.ts";

/** What a file describes. Nobody has checked the fields of its runs. */
export interface RunFile {
  runs: object[];
  /** The file has a list, even if only one run is in it. */
  isMany: boolean;
}

/**
 * Reads a file with one run, a list of runs, or `{"runs": [...]}` as the API takes it (api.md#batches).
 * Throws a `CliError` for anything else, and for more runs than one submission can have.
 */
export async function readRunFile(file: string): Promise<RunFile> {
  const value = await readJson(file);
  const list = isObject(value) && "runs" in value ? value.runs : value;
  if (isObject(list)) return { runs: [list], isMany: false };
  if (!Array.isArray(list) || !list.every(isObject)) {
    throw new CliError(`${file} must hold one run as a JSON object, or a list of such runs.`);
  }
  if (list.length === 0) throw new CliError(`${file} has an empty list of runs.`, ["Add at least one run."]);
  if (list.length > MAX_BATCH_RUNS) {
    throw new CliError(`${file} has ${list.length} runs, and one submission has at most ${MAX_BATCH_RUNS}.`, [
      "Split the file, and submit its parts one after the other.",
    ]);
  }
  return { runs: list, isMany: true };
}
