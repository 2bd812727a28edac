// How are runs, attempts and placements named?

/** The id of a run as part of a regular expression: its name, perhaps after a project (projects.md#runs). */
export const RUN_ID = String.raw`(?:[a-z0-9][a-z0-9-]{0,27}\.)?[a-z0-9][a-z0-9-]{0,62}`;

/** The beginning of the id of a run, perhaps all of it (api.md#finding). */
export const RUN_ID_PREFIX = /^[a-z0-9][a-z0-9-]{0,62}(?:\.[a-z0-9-]{0,63})?$/;
export const RUN_ID_PREFIX_TEXT =
  "must be the beginning of a run's id: lower-case letters, digits and dashes";

/** `<run>/<task>/<epoch>.<n>`: one start of a task. Ids are never reused (decisions/tasks.md#attempt-ids). */
export const ATTEMPT_ID_PATTERN = new RegExp(
  String.raw`^(${RUN_ID})/([a-z0-9-]{1,63})/([1-9]\d{0,8})\.([1-9]\d{0,8})$`,
);

/** `<run>/<epoch>`: one placement of one run. */
export const PLACEMENT_ID_PATTERN = new RegExp(String.raw`^${RUN_ID}/[1-9]\d{0,8}$`);

/** The id of a placement. */
export function placementKey(run: string, epoch: number): string {
  return `${run}/${epoch}`;
}

/** The parts of an attempt's id. */
export interface AttemptParts {
  run: string;
  task: string;
  epoch: number;
  n: number;
}

/** Parses an attempt's id; undefined for any other text. */
export function parseAttemptId(id: string): AttemptParts | undefined {
  const [, run, task, epoch, n] = ATTEMPT_ID_PATTERN.exec(id) ?? [];
  if (run === undefined || task === undefined) return undefined;
  return { run, task, epoch: Number(epoch), n: Number(n) };
}

/** The output streams of a process. */
export const STREAMS = ["stdout", "stderr"] as const;
export type StreamName = (typeof STREAMS)[number];
