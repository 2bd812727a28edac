// What becomes of a text with `${param.…}` when a run is made, so that each value arrives byte for byte?
import { isOwnName, REFERENCE } from "../../../shared/references.ts";
import type { ParamTexts } from "./resolve.ts";

/** What `${param.…}` and `${job.…}` stand for in one run. */
export interface Filling {
  params: ParamTexts;
  /** `tick`: the tick of the run (RFC 3339); empty for a run that no tick has caused. */
  job: { name: string; version: number; tick: string };
}

/**
 * Who reads a text after the references of its job are filled in. `plain`: nobody looks for references.
 * `text`: its host replaces all names. `word`: its host replaces only Drover's own names, since a word of a
 * command may be a script.
 */
export type Reader = "plain" | "text" | "word";

/** A part of a text, and the parameter or field of the job that it is the value of, if it is one. */
interface Part {
  text: string;
  name?: string;
}

/** A reference that is filled in when the run is made. */
const OF_JOB = /^(?:param|job)\./;
/** The fields of `${job.…}`. */
export const JOB_FIELDS = ["name", "version", "tick"];

/** The names of `param.…` and `job.…` to which a text refers, without those that are escaped. */
export function jobReferences(text: string): string[] {
  return references(text).filter((name) => OF_JOB.test(name));
}

/** All names to which a text refers, without those that are escaped. */
export function references(text: string): string[] {
  return [...text.matchAll(REFERENCE)].flatMap(([, escaped, name]) =>
    escaped === "" && name !== undefined ? [name] : [],
  );
}

/** The variable of a parameter: `branch` → `DROVER_PARAM_BRANCH`. */
export function paramVariable(name: string): string {
  return `DROVER_PARAM_${name.toUpperCase()}`;
}

/**
 * Fills in a text, so that whoever reads it afterwards leaves the values as they are (jobs.md#bytes). An
 * object with `endsIn`: this cannot be written for its reader, since the value of that parameter ends with
 * `$` and a reference follows, which would become an escaped one.
 */
export function fill(text: string, filling: Filling, reader: Reader): string | { endsIn: string } {
  const parts = partsOf(text, filling, reader);
  switch (reader) {
    case "plain":
      return joined(parts);
    case "word":
      return filledWord(parts);
    case "text":
      return filledText(parts);
  }
}

/** Escapes all references, so that a host reads the text as it is. */
export function literalText(text: string): string {
  return text.replace(REFERENCE, (reference) => `$${reference}`);
}

function partsOf(text: string, { params, job }: Filling, reader: Reader): Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const match of text.matchAll(REFERENCE)) {
    const [reference, escaped, name = ""] = match;
    if (!OF_JOB.test(name)) continue;
    // What is escaped in a `text`, its host turns into the reference.
    if (escaped !== "" && reader === "text") continue;
    parts.push({ text: text.slice(end, match.index) });
    if (escaped !== "") parts.push({ text: reference.slice(1) });
    else parts.push({ text: textFor(name, params, job) ?? reference, name });
    end = match.index + reference.length;
  }
  return [...parts, { text: text.slice(end) }];
}

function textFor(name: string, params: ParamTexts, job: Filling["job"]): string | undefined {
  const key = name.slice(name.indexOf(".") + 1);
  const values: Record<string, string> = name.startsWith("param.")
    ? params
    : { name: job.name, version: String(job.version), tick: job.tick };
  return Object.hasOwn(values, key) ? values[key] : undefined;
}

function joined(parts: Part[]): string {
  return parts.map(({ text }) => text).join("");
}

/**
 * A word whose host would find a name of Drover's in a value, or partly in one, refers to the variables of
 * the parameters instead: what a host puts in, it does not look through again.
 */
function filledWord(parts: Part[]): string {
  const isSafe = touching(parts).every(({ name }) => !isOwnName(name));
  if (isSafe) return joined(parts);
  return parts
    .map(({ text, name }) => (name?.startsWith("param.") ? `\${${paramVariable(name.slice(6))}}` : text))
    .join("");
}

/** A text in which everything is escaped that looks like a reference because of a value. */
function filledText(parts: Part[]): string | { endsIn: string } {
  const text = joined(parts);
  let filled = "";
  let end = 0;
  for (const { at, before } of touching(parts)) {
    if (before !== undefined) return { endsIn: before.slice(before.indexOf(".") + 1) };
    filled += `${text.slice(end, at)}$`;
    end = at;
  }
  return filled + text.slice(end);
}

/**
 * What looks like a reference in the joined text and has at least one character of a value. `before`: only
 * its escaping `$` is of a value, of this one, and the reference itself is the author's.
 */
function touching(parts: Part[]): { at: number; name: string; before?: string }[] {
  let end = 0;
  const values = parts.flatMap(({ text, name }) => {
    const start = end;
    end += text.length;
    return name === undefined ? [] : [{ name, start, end }];
  });
  return [...joined(parts).matchAll(REFERENCE)].flatMap((match) => {
    const at = match.index;
    const [reference, escaped, name = ""] = match;
    const touched = values.filter((value) => value.start < at + reference.length && value.end > at);
    const [first] = touched;
    if (first === undefined) return [];
    const isBefore = escaped !== "" && touched.length === 1 && first.end === at + 1;
    return [isBefore ? { at, name, before: first.name } : { at, name }];
  });
}
