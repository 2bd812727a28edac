// How does one command line become the runs of an array, each with its index and its values?
import { InvalidArgumentError } from "commander";
import { MAX_ARRAY_RUNS, MAX_MATRIX_AXES } from "../../../src/shared/limits.ts";
import { CliError } from "../../errors.ts";
import type { NamedSpec } from "../spec.ts";

/** The flags that make an array. */
export interface ArrayFlags {
  array?: number;
  matrix?: Matrix;
  maxParallel?: number;
  failAt?: FailAt;
}

/** After how many failures the rest of an array is ended: a number of runs, or a share of them. */
type FailAt = number | string;

/** The values of each axis, in the order of the command line. */
type Matrix = [axis: string, values: string[]][];

/** The number of runs of an array. */
export function arraySize(text: string): number {
  const size = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (size >= 1 && size <= MAX_ARRAY_RUNS) return size;
  const advice = size > MAX_ARRAY_RUNS ? " For more work than that, let each run do a part of it." : "";
  throw new InvalidArgumentError(
    `It must be a whole number from 1 to ${MAX_ARRAY_RUNS}, the most runs of an array.${advice}`,
  );
}

/** After how many failures the rest of an array is ended: `3`, or `10%`. */
export function failAt(text: string): FailAt {
  if (/^(?:[1-9]\d?|100)%$/.test(text)) return text;
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= MAX_ARRAY_RUNS) return count;
  throw new InvalidArgumentError(
    `It must be a number of runs from 1 to ${MAX_ARRAY_RUNS}, or a share from 1% to 100%.`,
  );
}

/** One axis, `name=value,value`; the flag may be repeated for others. */
export function axis(text: string, before: Matrix = []): Matrix {
  const [, name, list] = /^([A-Za-z]\w*)=([\s\S]*)$/.exec(text) ?? [];
  if (name === undefined || list === undefined) {
    throw new InvalidArgumentError(
      "It must be written name=value,value, with a name of letters, digits and underscores.",
    );
  }
  const values = list.split(",");
  if (values.includes("")) {
    throw new InvalidArgumentError(`The axis ${name} has an empty value. Write ${name}=a,b with all values.`);
  }
  if (new Set(values).size < values.length) {
    throw new InvalidArgumentError(`The axis ${name} has a value twice. Name each value once.`);
  }
  const isTaken = before.some(([other]) => other.toUpperCase() === name.toUpperCase());
  if (isTaken) {
    throw new InvalidArgumentError(
      `There are two axes ${name}. Give all values of an axis at once, as ${name}=a,b.`,
    );
  }
  if (before.length === MAX_MATRIX_AXES)
    throw new InvalidArgumentError(`A matrix has at most ${MAX_MATRIX_AXES} axes.`);
  return [...before, [name, values]];
}

/**
 * Whether the flags make an array. Throws a `CliError` if they contradict each other or make too many runs.
 */
export function makesArray({ array, matrix = [], maxParallel, failAt: limit }: ArrayFlags): boolean {
  if (array !== undefined && matrix.length > 0) {
    throw new CliError("--array and --matrix cannot be combined.", [
      "A matrix is an array, too. For one more axis: --matrix n=1,2,3",
    ]);
  }
  const size = matrix.reduce((product, [, values]) => product * values.length, 1);
  if (size > MAX_ARRAY_RUNS) {
    throw new CliError(`The matrix has ${size} runs, and an array has at most ${MAX_ARRAY_RUNS}.`, [
      "Leave out values, or submit it in parts: one value of an axis at a time.",
    ]);
  }
  const isArray = array !== undefined || matrix.length > 0;
  const flag = maxParallel !== undefined ? "--max-parallel" : limit !== undefined ? "--fail-at" : undefined;
  if (flag !== undefined && !isArray) {
    throw new CliError(`${flag} is about the runs of an array, and there is none.`, [
      "Combine it with --array or --matrix.",
    ]);
  }
  return isArray;
}

/**
 * The runs of an array (api.md#arrays). The id of the submission becomes that of the array, and each run has
 * it with its index: so the same command line with the same `--id` finds the same runs again.
 */
export function runsOfArray(spec: NamedSpec, flags: ArrayFlags): NamedSpec[] {
  const { array, matrix = [], maxParallel, failAt: limit } = flags;
  const all = matrix.reduce<Record<string, string>[]>(
    (runs, [name, values]) => runs.flatMap((run) => values.map((value) => ({ ...run, [name]: value }))),
    Array.from({ length: array ?? 1 }, () => ({})),
  );
  const id = spec.id.slice(spec.id.indexOf(".") + 1); // without the project
  return all.map((values, index) => ({
    ...spec,
    id: `${spec.id}-${index}`,
    array: {
      id,
      index,
      size: all.length,
      ...(matrix.length > 0 ? { matrix: values } : {}),
      maxParallel,
      failAt: limit,
    },
  }));
}
