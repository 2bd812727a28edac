// May a run of a job have this payload and this metadata (jobs.md#payload, jobs.md#meta)?
import type { JobMeta, JobPayload } from "../../../schema/job/inputs.ts";
import type { FieldError } from "../../../shared/errors.ts";
import { MAX_PAYLOAD_BYTES } from "../../../shared/jobs/limits.ts";
import type { Resolved } from "./resolve.ts";

/**
 * What is wrong with the payload of a run: its text for the request's field `payload`, or undefined.
 * `bytes`: the size of the payload; undefined: the run has none. An empty payload is one. A job without the
 * rule takes none, since it has no file for it (jobs.md#payload).
 */
export function payloadProblem(rule: JobPayload | undefined, bytes: number | undefined): string | undefined {
  if (bytes === undefined)
    return rule === "required" ? "must be given: the job requires a payload" : undefined;
  if (rule === undefined || rule === "forbidden") return "must be absent: the job takes no payload";
  return bytes > MAX_PAYLOAD_BYTES
    ? `must have at most ${MAX_PAYLOAD_BYTES} bytes, not ${bytes}: put it into a snapshot, or name its URL`
    : undefined;
}

/**
 * The metadata of a run of a job, to be merged over the `meta` of its spec: what was given, and each optional
 * key that was not given with an empty value. Keys are taken as written, dashes and case included. A job
 * without the rule permits no key (jobs.md#meta).
 */
export function resolveMeta(
  rule: JobMeta | undefined,
  given: Record<string, string>,
): Resolved<Record<string, string>> {
  const { required = [], optional = [] } = rule ?? {};
  const permitted = new Set([...required, ...optional]);
  const problems: FieldError[] = [];
  const add = (key: string, detail: string) =>
    problems.push({ pointer: `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`, detail });
  for (const key of Object.keys(given))
    if (!permitted.has(key))
      add(
        key,
        `is not permitted: the job permits ${permitted.size === 0 ? "none" : [...permitted].join(", ")}`,
      );
  for (const key of required) if (!Object.hasOwn(given, key)) add(key, "must be given: the job requires it");
  if (problems.length > 0) return { problems };
  const empty = Object.fromEntries(optional.map((key) => [key, ""]));
  return { values: { ...empty, ...given } };
}
