// How are the runs, arrays and jobs named that a run starts after: `build`, `build:any`, `nightly@24h`?
import { InvalidArgumentError } from "commander";
import type { After } from "../../../client/types.ts";

const FORM = /^([^:]+)(?::(success|failure|any))?$/;

/** `run`, and behind it how it must end; the flag may be repeated. */
export function afterRun(text: string, before: After[] = []): After[] {
  const { name, on } = parsed(text, "build");
  return [...before, on === undefined ? name : { run: name, on }];
}

/** `array`, and behind it how it must end; the flag may be repeated. */
export function afterArray(text: string, before: After[] = []): After[] {
  const { name, on } = parsed(text, "parts");
  return [...before, on === undefined ? { array: name } : { array: name, on }];
}

const JOB_FORM = /^([^:@]+)(?:@([^:]+))?(?::(success|failure|any))?$/;

/** `job`, how old its run may be, and how it must end; the flag may be repeated. */
export function afterJob(text: string, before: After[] = []): After[] {
  const [, job, maxAge, how] = JOB_FORM.exec(text) ?? [];
  const on: On = how === "failure" || how === "any" ? how : undefined;
  if (job === undefined) {
    throw new InvalidArgumentError(
      "It must be the name of a job, with @ and how old its run may be, and :success, :failure or :any " +
        "behind it if need be, such as nightly@24h:any.",
    );
  }
  const entry = { job, ...(on === undefined ? {} : { on }), ...(maxAge === undefined ? {} : { maxAge }) };
  return [...before, entry];
}

type On = "failure" | "any" | undefined;

function parsed(text: string, example: string): { name: string; on: On } {
  const [, name, on] = FORM.exec(text) ?? [];
  if (name === undefined) {
    throw new InvalidArgumentError(
      `It must be an id, with :success, :failure or :any behind it if need be, such as ${example}:any.`,
    );
  }
  return { name, on: on === "failure" || on === "any" ? on : undefined };
}

/** An entry of `after` as it is written behind its flag. */
export function afterText(after: After): string {
  if (typeof after === "string") return after;
  const name = nameIn(after);
  return after.on === undefined ? name : `${name}:${after.on}`;
}

function nameIn(after: Exclude<After, string>): string {
  if ("run" in after) return after.run;
  if ("array" in after) return after.array;
  return after.maxAge === undefined ? after.job : `${after.job}@${after.maxAge}`;
}

/** The entry with its flag, as the command line has it. */
export function afterFlag(after: After): string {
  const kind = kindOf(after);
  return `--after${kind === "run" ? "" : `-${kind}`} ${afterText(after)}`;
}

function kindOf(after: After): "run" | "array" | "job" {
  if (typeof after === "string" || "run" in after) return "run";
  return "array" in after ? "array" : "job";
}

/** The entry as a status shows it. */
export function afterShown(after: After): string {
  const kind = kindOf(after);
  return `${kind === "run" ? "" : `${kind} `}${afterText(after)}`;
}
