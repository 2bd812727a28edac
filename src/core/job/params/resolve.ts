// Which values do the parameters of a job have in one run (jobs.md#parameters)?
import type { JobParam, JobParams, ParamValue, ParamValues } from "../../../schema/job/params.ts";
import type { FieldError } from "../../../shared/errors.ts";
import {
  DEFAULT_PARAM_BYTES,
  MAX_PARAM_BYTES,
  MAX_PATTERN_VALUE_BYTES,
} from "../../../shared/jobs/limits.ts";
import { patternOf } from "./pattern.ts";

/** The values of all parameters as texts, by name: what `${param.<name>}` stands for. */
export type ParamTexts = Record<string, string>;

/** Values, or what is wrong with those that were given, with pointers below the values (`/branch`). */
export type Resolved<Value> =
  | { values: Value; problems?: undefined }
  | { values?: undefined; problems: FieldError[] };

/**
 * The text of each parameter in a run that was given these values: the given value, else the default, else
 * the empty text (jobs.md#parameters). Numbers and booleans are written as JSON writes them.
 */
export function resolveParams(params: JobParams, given: ParamValues): Resolved<ParamTexts> {
  const problems: FieldError[] = [];
  const values: ParamTexts = {};
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(params, name)) continue;
    const known = Object.keys(params);
    const hint = known.length === 0 ? "the job has none" : `the job has ${known.join(", ")}`;
    problems.push({
      pointer: `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`,
      detail: `is no parameter: ${hint}`,
    });
  }
  let bytes = 0;
  for (const [name, param] of Object.entries(params)) {
    const value = Object.hasOwn(given, name) ? given[name] : param.default;
    const detail = value === undefined ? missingProblem(param) : valueProblem(param, value);
    if (detail !== undefined) problems.push({ pointer: `/${name}`, detail });
    values[name] = value === undefined ? "" : String(value);
    bytes += bytesOf(values[name]);
  }
  if (problems.length === 0 && bytes > MAX_PARAM_BYTES)
    problems.push({ pointer: "", detail: `must have at most ${MAX_PARAM_BYTES} bytes in all, not ${bytes}` });
  return problems.length > 0 ? { problems } : { values };
}

/**
 * What is wrong with the parameters that a job declares, with pointers below them (`/branch/default`): a
 * default or a value of `enum` that no run could be given, a pattern that cannot be compared in bounded time,
 * and fields that contradict each other (jobs.md#parameters).
 */
export function paramsProblems(params: JobParams): FieldError[] {
  return Object.entries(params).flatMap(([name, param]) => {
    const found: FieldError[] = [];
    const add = (field: string, detail: string) => found.push({ pointer: `/${name}/${field}`, detail });
    if (param.required === true && param.default !== undefined)
      add("default", "is never used, since each run must be given a value: leave out one of both");
    for (const field of ["pattern", "maxBytes"] as const)
      if (param[field] !== undefined && param.type !== "string")
        add(field, `belongs to texts, and the type is "${param.type}"`);
    if (param.pattern !== undefined && param.enum !== undefined)
      add("pattern", "is never used, since `enum` says which values there are: leave out one of both");
    else if (param.pattern !== undefined) {
      const pattern = patternOf(param.pattern);
      if (typeof pattern === "string") add("pattern", pattern);
      else if ((param.maxBytes ?? 0) > MAX_PATTERN_VALUE_BYTES)
        add("maxBytes", `must be at most ${MAX_PATTERN_VALUE_BYTES} for a text with a pattern`);
    }
    if (found.length > 0) return found;
    for (const [i, value] of (param.enum ?? []).entries()) {
      const detail = valueProblem({ ...param, enum: undefined }, value);
      if (detail !== undefined) add(`enum/${i}`, detail);
    }
    const ofDefault = param.default === undefined ? undefined : valueProblem(param, param.default);
    if (ofDefault !== undefined) add("default", ofDefault);
    return found;
  });
}

function missingProblem({ required }: JobParam): string | undefined {
  return required === true ? "must be given: the job requires it" : undefined;
}

function valueProblem(param: JobParam, value: ParamValue): string | undefined {
  const ofType = typeProblem(param, value);
  if (ofType !== undefined) return ofType;
  if (param.enum !== undefined && !param.enum.includes(value))
    return `must be one of ${param.enum.map((one) => JSON.stringify(one)).join(", ")}`;
  return typeof value === "string" ? textProblem(param, value) : undefined;
}

function typeProblem({ type }: JobParam, value: ParamValue): string | undefined {
  switch (type) {
    case "string":
      return typeof value === "string" ? undefined : "must be a text";
    case "boolean":
      return typeof value === "boolean" ? undefined : "must be true or false";
    case "number":
      return typeof value === "number" && Number.isFinite(value) ? undefined : "must be a number";
    case "integer":
      return Number.isSafeInteger(value)
        ? undefined
        : "must be a whole number between -(2^53 - 1) and 2^53 - 1";
  }
}

function textProblem({ maxBytes, pattern }: JobParam, text: string): string | undefined {
  const most = maxBytes ?? (pattern === undefined ? DEFAULT_PARAM_BYTES : MAX_PATTERN_VALUE_BYTES);
  const bytes = bytesOf(text);
  if (bytes > most) return `must have at most ${most} bytes, not ${bytes}`;
  if (text.includes("\0")) return "must not contain a NUL character";
  if (!text.isWellFormed()) return "must be valid Unicode: it has half of a surrogate pair";
  if (pattern === undefined) return undefined;
  const compiled = patternOf(pattern);
  return typeof compiled === "string" || compiled.matches(text)
    ? undefined
    : `must match the pattern ${pattern} as a whole`;
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).byteLength;
}
