// Which jobs are described by the files of `drover jobs apply`?
import { CliError } from "../errors.ts";
import { isObject, readJson } from "../json-file.ts";
import { printable } from "../terminal/text.ts";

/** What a file says of one job. Nobody has checked the fields yet. */
export interface DescribedJob {
  file: string;
  name: string;
  /** What a version of it says. */
  content: object;
  /** Whether it is paused. Undefined: the file does not say so. */
  paused: boolean | undefined;
}

/**
 * Reads files, or standard input for `-`. Each has one job, or a list of jobs. Throws a `CliError` for a job
 * without a name, and for one that is described twice.
 */
export async function readJobFiles(files: readonly string[]): Promise<DescribedJob[]> {
  const jobs: DescribedJob[] = [];
  for (const file of files) jobs.push(...jobsIn(file, await readJson(file)));
  for (const [at, { name, file }] of jobs.entries()) {
    const before = jobs.slice(0, at).find((one) => one.name === name);
    if (before === undefined) continue;
    const where = before.file === file ? `twice in ${file}` : `in ${before.file} and in ${file}`;
    throw new CliError(`The job ${printable(name)} is described ${where}.`, ["Keep one description of it."]);
  }
  return jobs;
}

function jobsIn(file: string, value: unknown): DescribedJob[] {
  const all: unknown[] = Array.isArray(value) ? value : [value];
  if (all.length > 0 && all.every(isObject)) return all.map((one) => jobIn(file, one));
  throw new CliError(`${file} must hold a JSON object that describes a job, or a list of such.`);
}

function jobIn(file: string, described: object): DescribedJob {
  const { name, paused, ...content }: { name?: unknown; paused?: unknown } = described;
  if (typeof name !== "string" || name === "")
    throw new CliError(`A job in ${file} has no name.`, ["Give it a `name`, such as nightly."]);
  if (paused === undefined || typeof paused === "boolean") return { file, name, content, paused };
  throw new CliError(`\`paused\` of the job ${printable(name)} in ${file} must be true or false.`);
}
