// What does an entry of `after` ask for, and has an end met it (api.md#after)?

/** How a run or an array must have ended for what starts after it (api.md#after). */
export const AFTER_ONS = ["success", "failure", "any"] as const;
export type AfterOn = (typeof AFTER_ONS)[number];

/** An entry of `after` (`schema/run/relations/after.ts`). The id of a run alone asks for its success. */
export type After =
  | string
  | { run: string; on?: AfterOn | undefined }
  | { array: string; on?: AfterOn | undefined }
  | AfterJob;

/** A job whose run is followed. At submission the id of that run takes its place (jobs.md#following). */
export interface AfterJob {
  job: string;
  on?: AfterOn | undefined;
  /** A duration. Absent: its run may have any age. */
  maxAge?: string | undefined;
}

/** An array whose end a run awaits, and how it must end. */
export interface AwaitedArray {
  array: string;
  on: AfterOn;
}

/** How what is named in `after` must have ended. */
export function onOf(after: After): AfterOn {
  return typeof after === "string" ? "success" : (after.on ?? "success");
}

/** The run that an entry names. Undefined: it names an array or a job. */
export function runOf(after: After): string | undefined {
  if (typeof after === "string") return after;
  return "run" in after ? after.run : undefined;
}

/** The arrays among the entries, each with how it must end. */
export function arraysIn(entries: readonly After[]): AwaitedArray[] {
  return entries.flatMap((one) =>
    typeof one !== "string" && "array" in one ? [{ array: one.array, on: onOf(one) }] : [],
  );
}

/** The jobs among the entries, whose runs are not chosen yet. */
export function jobsIn(entries: readonly After[]): AfterJob[] {
  return entries.flatMap((one) => (typeof one !== "string" && "job" in one ? [one] : []));
}

/** The entries, each once, however often and in whichever form it is named. */
export function distinctAfter(entries: readonly After[]): After[] {
  const keyOf = (one: After) => `${nameOf(one)} ${onOf(one)}`;
  return [...new Map(entries.map((one) => [keyOf(one), one])).values()];
}

/** How many entries a text names. */
const MOST_NAMED = 3;

/** What is awaited, for people: `run build to end well, array parts to end, and 2 others`. */
export function awaitedText(entries: readonly After[]): string {
  const named = entries.slice(0, MOST_NAMED).map((one) => `${nameOf(one)} to ${WISH[onOf(one)]}`);
  const rest = entries.length - named.length;
  const last = rest === 0 ? named.pop() : `${rest} ${rest === 1 ? "other" : "others"}`;
  return named.length === 0 ? (last ?? "nothing") : `${named.join(", ")} and ${last}`;
}

const WISH: Record<AfterOn, string> = { success: "end well", failure: "fail", any: "end" };

/** The run, the array or the job, for people. */
export function nameOf(after: After): string {
  if (typeof after === "string" || "run" in after) return `run ${runOf(after)}`;
  return "array" in after ? `array ${after.array}` : `job ${after.job}`;
}
