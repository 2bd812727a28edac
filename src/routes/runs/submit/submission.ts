// Which id and hash does each submitted run get (api.md#idempotency)?
import canonicalize from "canonicalize";
import type { RunSpec } from "../../../schema/run/run.ts";
import { idOfKey, sha256 } from "../../../shared/access/key-ids.ts";
import { projectOfRun, runIdIn } from "../../../shared/access/project.ts";
import type { DroverError, FieldError } from "../../../shared/errors.ts";
import { MAX_RUN_ID_CHARS, MAX_SPEC_BYTES } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import { formatSize } from "../../../shared/size.ts";
import { invalid } from "../../http/invalid.ts";

/** One run to submit, with its id and the hash by which a repetition is recognized. */
export interface Candidate {
  id: string;
  /** The id was made for this submission, so the run cannot exist yet. */
  fresh: boolean;
  spec: RunSpec;
  hash: string;
  /** Why the run is not made. It can only be found, if an earlier try has made it (jobs.md#following). */
  refusal?: DroverError;
}

/** A valid submission, together with its raw form without defaults. */
export interface RawSubmission {
  specs: readonly RunSpec[];
  raw: readonly unknown[];
  /** Whether the body was `{"runs": […]}`. */
  batch: boolean;
  key: string | undefined;
  /** The project of the runs, with which their ids begin (projects.md#runs). */
  project: string;
  now: Instant;
}

const encoder = new TextEncoder();

/**
 * Gives each run its id and hash (api.md#idempotency). With a key, the hash covers the whole body, since the
 * key stands for the body. Without a key, the hash covers only the spec of the run, so that a run with a
 * chosen id is found again in another batch. Throws `invalid_request` if a run has an id although there is a
 * key, if two runs have the same id, if an id names another project, or if a spec is too large.
 */
export async function candidates(submission: RawSubmission): Promise<Candidate[]> {
  const errors: FieldError[] = [];
  const texts = submission.raw.map((raw, index) => canonical(raw, at(submission, index), errors));
  checkIds(submission, errors);
  if (errors.length > 0) throw invalid(errors);
  const { key, specs, batch, project, now } = submission;
  // Canonical JSON sorts keys, but this object has only one key.
  const body = () => (batch ? `{"runs":[${texts.join(",")}]}` : texts.join(""));
  const ofBody = key === undefined ? undefined : await sha256(body());
  const make = async (spec: RunSpec, index: number) => ({
    id: runIdIn(project, key === undefined ? (spec.id ?? mintId(now, index)) : await idOfKey(key, index)),
    fresh: key === undefined && spec.id === undefined,
    spec,
    hash: ofBody ?? (await sha256(texts[index] ?? "")),
  });
  return Promise.all(specs.map(make));
}

function at({ batch }: RawSubmission, index: number): string {
  return batch ? `/runs/${index}` : "";
}

/** Throws `invalid_request` if a spec, as the client sent it, is too large or is not valid Unicode. */
export function checkText(raw: unknown, pointer: string): void {
  const errors: FieldError[] = [];
  canonical(raw, pointer, errors);
  if (errors.length > 0) throw invalid(errors);
}

/** A spec as canonical JSON (RFC 8785). Adds an error if the spec is too large or is not valid Unicode. */
function canonical(raw: unknown, pointer: string, errors: FieldError[]): string {
  try {
    const text = canonicalize(raw) ?? "";
    const bytes = encoder.encode(text).length;
    if (bytes > MAX_SPEC_BYTES) {
      const limit = formatSize(MAX_SPEC_BYTES);
      errors.push({
        pointer,
        detail: `is too large: ${formatSize(bytes)} as JSON; the limit is ${limit}`,
      });
    }
    return text;
  } catch {
    // Parsed JSON fails here only if it contains a lone surrogate.
    errors.push({ pointer, detail: "has text that is not valid Unicode: half of a surrogate pair" });
    return "";
  }
}

function checkIds(submission: RawSubmission, errors: FieldError[]): void {
  const seen = new Set<string>();
  for (const [index, { id }] of submission.specs.entries()) {
    if (id === undefined) continue;
    const full = runIdIn(submission.project, id);
    const pointer = `${at(submission, index)}/id`;
    if (submission.key !== undefined) {
      errors.push({ pointer, detail: "cannot be chosen together with an Idempotency-Key: send one of them" });
    } else if (seen.has(full)) {
      errors.push({ pointer, detail: `is used twice in this batch: "${id}"` });
    } else if (projectOfRun(full) !== submission.project) {
      errors.push({ pointer, detail: `must not name a project other than ${submission.project}` });
    } else if (full.length > MAX_RUN_ID_CHARS) {
      const detail = `must have at most ${MAX_RUN_ID_CHARS} characters together with its project: "${full}"`;
      errors.push({ pointer, detail });
    }
    seen.add(full);
  }
}

const TIME_CHARS = 9;
const INDEX_CHARS = 2;
const RANDOM_CHARS = 10;

/** A new id that sorts by time, then by index within a batch. 50 bits are random. */
function mintId(now: Instant, index: number): string {
  const time = now.toString(36).padStart(TIME_CHARS, "0");
  const place = index.toString(36).padStart(INDEX_CHARS, "0");
  // 32 of the 36 digits are used, so that each random byte maps to a digit without bias.
  const random = Array.from(crypto.getRandomValues(new Uint8Array(RANDOM_CHARS)), (byte) =>
    (byte % 32).toString(32),
  ).join("");
  return `r${time}${place}${random}`;
}
