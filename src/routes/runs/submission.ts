import canonicalize from "canonicalize";
import type { RunSpec } from "../../schema/run/run.ts";
import type { FieldError } from "../../shared/errors.ts";
import { MAX_SPEC_BYTES } from "../../shared/limits.ts";
import type { Instant } from "../../shared/machine.ts";
import { formatSize } from "../../shared/size.ts";
import { invalid } from "../http/invalid.ts";

/** One run to be submitted: which object it is, and what makes a repetition of it. */
export interface Candidate {
  id: string;
  /** The id was made for this very submission: no other can have used it. */
  fresh: boolean;
  spec: RunSpec;
  hash: string;
}

/** A submission that the schema has let through, beside the same as it was sent: without defaults. */
export interface Sent {
  specs: readonly RunSpec[];
  raw: readonly unknown[];
  /** Whether it came as `{"runs": […]}`. */
  batch: boolean;
  key: string | undefined;
  now: Instant;
}

const encoder = new TextEncoder();

/**
 * Gives each run its id and hash (api.md#idempotency). With a key the hash is of the whole body, since the
 * key stands for all of it; without, of the one spec, so that a run with a chosen id is found again in
 * another batch. Throws `invalid_request` for a key beside an id, an id used twice, and a spec that is too
 * large.
 */
export async function candidates(sent: Sent): Promise<Candidate[]> {
  const errors: FieldError[] = [];
  const texts = sent.raw.map((raw, index) => canonical(raw, at(sent, index), errors));
  checkIds(sent, errors);
  if (errors.length > 0) throw invalid(errors);
  const { key, specs, batch, now } = sent;
  if (key === undefined) {
    const make = async (spec: RunSpec, index: number) => ({
      id: spec.id ?? mintId(now, index),
      fresh: spec.id === undefined,
      spec,
      hash: await sha256(texts[index] ?? ""),
    });
    return Promise.all(specs.map(make));
  }
  // Keys of an object are sorted in canonical JSON; this one has a single key.
  const hash = await sha256(batch ? `{"runs":[${texts.join(",")}]}` : texts.join(""));
  const make = async (spec: RunSpec, index: number) => ({
    id: await idOfKey(key, index),
    fresh: false,
    spec,
    hash,
  });
  return Promise.all(specs.map(make));
}

function at({ batch }: Sent, index: number): string {
  return batch ? `/runs/${index}` : "";
}

/** Throws `invalid_request` for a spec, as it was sent, that is too large or is not valid Unicode. */
export function checkText(raw: unknown, pointer: string): void {
  const errors: FieldError[] = [];
  canonical(raw, pointer, errors);
  if (errors.length > 0) throw invalid(errors);
}

/** A spec as canonical JSON (RFC 8785); notes an error if it is too large or is not valid Unicode. */
function canonical(raw: unknown, pointer: string, errors: FieldError[]): string {
  try {
    const text = canonicalize(raw) ?? "";
    const bytes = encoder.encode(text).length;
    if (bytes > MAX_SPEC_BYTES) {
      const limit = formatSize(MAX_SPEC_BYTES);
      errors.push({
        pointer,
        detail: `must have at most ${limit} as JSON; this one has ${formatSize(bytes)}`,
      });
    }
    return text;
  } catch {
    // What JSON.parse yields can fail in one way only: half of a surrogate pair.
    errors.push({ pointer, detail: "has text that is not valid Unicode: half of a surrogate pair" });
    return "";
  }
}

function checkIds(sent: Sent, errors: FieldError[]): void {
  const seen = new Set<string>();
  for (const [index, { id }] of sent.specs.entries()) {
    if (id === undefined) continue;
    const pointer = `${at(sent, index)}/id`;
    if (sent.key !== undefined) {
      errors.push({ pointer, detail: "cannot be chosen together with an Idempotency-Key: send one of them" });
    } else if (seen.has(id)) {
      errors.push({ pointer, detail: `is used twice in this batch: "${id}"` });
    }
    seen.add(id);
  }
}

/** The id of the run that a key stands for: the same key and index always name the same run. */
async function idOfKey(key: string, index: number): Promise<string> {
  return `k-${(await sha256(`${key}\0${index}`)).slice(0, 32)}`;
}

const TIME_CHARS = 9;
const INDEX_CHARS = 2;
const RANDOM_CHARS = 10;

/** A new id that sorts by time, and within one batch by index: 50 bits are random. */
function mintId(now: Instant, index: number): string {
  const time = now.toString(36).padStart(TIME_CHARS, "0");
  const place = index.toString(36).padStart(INDEX_CHARS, "0");
  // 32 of the 36 characters are used, so that each random byte gives one without bias.
  const random = Array.from(crypto.getRandomValues(new Uint8Array(RANDOM_CHARS)), (byte) =>
    (byte % 32).toString(32),
  ).join("");
  return `r${time}${place}${random}`;
}

/** The SHA-256 of a text, in hexadecimal. */
export async function sha256(text: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(text)));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
