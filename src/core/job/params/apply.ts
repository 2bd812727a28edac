// What is the spec of a run, once the parameters of its job are filled in (jobs.md#filling-in)?
import type { RunSpec } from "../../../schema/run/run.ts";
import type { FieldError } from "../../../shared/errors.ts";
import { mapTexts, pointerTo, readerAt } from "./fields.ts";
import { type Filling, fill, literalText, paramVariable } from "./fill.ts";
import type { Resolved } from "./resolve.ts";

/**
 * The spec of one run of a job: each `${param.<name>}`, `${job.name}`, `${job.version}` and `${job.tick}` in
 * words of commands, values of `env`, `meta` and `labels`, and images is replaced, and the variables
 * `DROVER_PARAM_<NAME>` are added to `env`. A value is data: the command gets it byte for byte, in
 * one word (jobs.md#bytes).
 *
 * The result is to be checked by the schema of a run, since a value can make a label too long or the name of
 * an image invalid. A problem has a pointer below the values (`/branch`): one that cannot be written where it
 * is used.
 */
export function applyParams(spec: RunSpec, filling: Filling): Resolved<RunSpec> {
  const problems: FieldError[] = [];
  const filled = mapTexts(spec, (text, path) => {
    const reader = readerAt(path);
    if (reader === undefined) return text;
    const found = fill(text, filling, reader);
    if (typeof found === "string") return found;
    const where = `at ${pointerTo(path)} of the spec`;
    const detail = `must not end with "$": a reference follows it ${where}, and would become an escaped one`;
    problems.push({ pointer: `/${found.endsIn}`, detail });
    return text;
  });
  if (problems.length > 0) return { problems };
  const variables = Object.entries(filling.params).map(([name, value]) => {
    return [paramVariable(name), literalText(value)];
  });
  // Only texts were replaced, each by a text.
  const values = filled as RunSpec;
  if (variables.length === 0) return { values };
  return { values: { ...values, env: { ...values.env, ...Object.fromEntries(variables) } } };
}

/**
 * The given metadata of a run as its spec has it, so that the host leaves the values as they are
 * (jobs.md#meta). `meta`: that of the spec, whose other keys stay.
 */
export function withMeta(
  meta: Record<string, string>,
  given: Record<string, string>,
): Record<string, string> {
  const literal = Object.entries(given).map(([key, value]) => [key, literalText(value)]);
  return { ...meta, ...Object.fromEntries(literal) };
}
