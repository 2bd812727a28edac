// How the values of flags are checked: durations, sizes, numbers, labels and variables.

import { InvalidArgumentError } from "commander";
import type { StateFilter } from "../client/types.ts";
import { PROJECT_NAME, PROJECT_NAME_TEXT } from "../src/shared/access/project.ts";
import { parseDuration } from "../src/shared/duration.ts";
import { escapeReferences } from "../src/shared/references.ts";
import { RUN_STATES } from "../src/shared/run-state.ts";
import { parseSize } from "../src/shared/size.ts";
import { CONTEXT_NAME_TEXT, isContextName } from "./config/config.ts";

/** The words that `--state` accepts for runs (api.md#state-filter). */
export const STATE_WORDS: readonly StateFilter[] = [...RUN_STATES, "done", "all"];

/** Checks a duration, and returns its text: the API reads durations as people write them. */
export function duration(text: string): string {
  if (parseDuration(text) !== undefined) return text;
  if (isNumber(text)) {
    throw new InvalidArgumentError(
      `It needs a unit: ${text}s are seconds, ${text}m minutes, ${text}h hours.`,
    );
  }
  throw new InvalidArgumentError("It must be a duration with its unit, such as 250ms, 10s or 1h30m.");
}

/** A duration longer than zero. */
export function positiveDuration(text: string): string {
  if ((parseDuration(duration(text)) ?? 0) > 0) return text;
  throw new InvalidArgumentError("It must be longer than zero, such as 10s or 1h30m.");
}

/**
 * Checks a size, and returns its text. A bare number is refused: people would mean megabytes, but the API
 * would read bytes.
 */
export function size(text: string): string {
  if (isNumber(text)) {
    throw new InvalidArgumentError(`It needs a unit: ${text}MiB or ${text}GiB, or ${text}B for bytes.`);
  }
  if (parseSize(text) !== undefined) return text;
  throw new InvalidArgumentError("It must be a size with its unit, such as 64KiB, 512MiB or 2GB.");
}

/** The part at the end of a log: a number of lines, or a size. */
export type Tail = { tailLines: number } | { tail: string };

/** Parses a number of lines, as for `tail -n`, or a size with its unit. */
export function tail(text: string): Tail {
  if (/^\d{1,9}$/.test(text)) return { tailLines: Number(text) };
  if (!isNumber(text) && parseSize(text) !== undefined) return { tail: text };
  throw new InvalidArgumentError("It must be a number of lines, such as 100, or a size, such as 64KiB.");
}

function isNumber(text: string): boolean {
  return /^\d+(\.\d+)?$/.test(text);
}

/** A path. The code that uses the path checks whether it exists. */
export function path(text: string): string {
  if (text !== "") return text;
  throw new InvalidArgumentError("It must be a path.");
}

/** A whole number from `least` to `most`. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}

/** The name of a project. */
export function projectName(text: string): string {
  if (PROJECT_NAME.test(text)) return text;
  throw new InvalidArgumentError(`It ${PROJECT_NAME_TEXT}.`);
}

/** The name of a context. */
export function contextName(text: string): string {
  if (isContextName(text)) return text;
  throw new InvalidArgumentError(`It ${CONTEXT_NAME_TEXT}.`);
}

/** An amount of money above 0. */
export function amount(text: string): number {
  const value = /^\d{1,7}(\.\d{1,6})?$/.test(text) ? Number(text) : 0;
  if (value > 0) return value;
  throw new InvalidArgumentError("It must be an amount above 0, such as 2.50.");
}

/** The most virtual CPUs that a run can ask for. */
const MAX_CPUS = 1_024;

/** A number of virtual CPUs, also in parts, to thousandths (pool.md#fit). */
export function cpus(text: string): number {
  const value = /^(\d{1,4}(\.\d{1,3})?|\.\d{1,3})$/.test(text) ? Number(text) : Number.NaN;
  if (value <= MAX_CPUS) return value;
  throw new InvalidArgumentError(
    `It must be a number from 0 to ${MAX_CPUS}, with at most three digits after the point, such as 2 or 0.5.`,
  );
}

/** Any text; the flag may be repeated. */
export function several(text: string, before: string[] = []): string[] {
  return [...before, text];
}

/** A parser of words that names them: completion offers them (cli.md#completion). */
type OfWords<Parse> = Parse & { allowed: readonly string[] };

/** One of the allowed words. */
export function word<Word>(allowed: readonly Word[]): OfWords<(text: string) => Word> {
  const parse = (text: string): Word => {
    const found = allowed.find((candidate) => String(candidate) === text);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`It must be one of: ${allowed.join(", ")}.`);
  };
  return Object.assign(parse, { allowed: allowed.map(String) });
}

/** One of the allowed words; the flag may be repeated. */
export function words<Word>(allowed: readonly Word[]): OfWords<(text: string, before?: Word[]) => Word[]> {
  const one = word(allowed);
  const parse = (text: string, before: Word[] = []): Word[] => [...before, one(text)];
  return Object.assign(parse, { allowed: one.allowed });
}

/** `name=value`; the flag may be repeated, and the last value of a name wins. */
export function pair(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("It must be written name=value.");
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

/** `NAME`, `NAME=secret`, and behind either `:file` or `:env`; the flag may be repeated. */
export function secretUse(
  text: string,
  before: Record<string, { secret: string; as: "file" | "env" }> = {},
): Record<string, { secret: string; as: "file" | "env" }> {
  const [, name, secret, as] = /^([^=:]+)(?:=([^=:]+))?(?::(file|env))?$/.exec(text) ?? [];
  if (name !== undefined) {
    return { ...before, [name]: { secret: secret ?? name, as: as === "env" ? "env" : "file" } };
  }
  throw new InvalidArgumentError(
    "It must be written NAME or NAME=secret, with :file or :env behind it, such as TOKEN=deploy-token:env.",
  );
}

/**
 * `NAME=value`, or `NAME` alone for the value that it has in this process. References in the value are
 * escaped, so that the host replaces nothing and the command gets exactly this value.
 */
export function environment(env: NodeJS.ProcessEnv) {
  return (text: string, before: Record<string, string> = {}): Record<string, string> => {
    if (text.includes("=")) return pair(escapeReferences(text), before);
    const value = env[text];
    if (value !== undefined) return { ...before, [text]: escapeReferences(value) };
    throw new InvalidArgumentError(
      `${text} is not set here. Write ${text}=value, or ${text}= for an empty value.`,
    );
  };
}
