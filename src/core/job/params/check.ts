// Is there a reference in the spec of a job that nobody fills in, or whose value would be executed?
import type { RunSpec } from "../../../schema/run/run.ts";
import { containerOf } from "../../../shared/containers/container-of.ts";
import type { FieldError } from "../../../shared/errors.ts";
import { JOB_VARIABLES } from "../../../shared/jobs/labels.ts";
import { FIELDS_TEXT, type Path, pointerTo, readerAt, textsOf } from "./fields.ts";
import { JOB_FIELDS, jobReferences, paramVariable, references } from "./fill.ts";
import { codeWords } from "./scripts.ts";

/** What a run of the job can be given. */
export interface Givable {
  /** The names of its parameters. */
  params: readonly string[];
  /** The keys of `meta` that a run is given. */
  metaKeys: readonly string[];
}

/**
 * What is wrong with the references in the spec of a job, with pointers into the spec: an unknown parameter;
 * a reference where none is filled in; and what a run is given within the text of a script or as the name of
 * a program, since it would be executed (jobs.md#scripts). Empty: nothing.
 */
export function templateProblems(spec: RunSpec, givable: Givable): FieldError[] {
  const problems: FieldError[] = [];
  const add = (path: Path, detail: string) => problems.push({ pointer: pointerTo(path), detail });
  for (const { path, text, isName } of textsOf(spec)) {
    const names = jobReferences(text);
    if (names.length === 0) continue;
    if (isName || readerAt(path) === undefined)
      add(path, `has \${${names[0]}}, and nothing is filled in here: that is done in ${FIELDS_TEXT}`);
    else for (const name of new Set(names)) addUnknown(name, givable, (detail) => add(path, detail));
  }
  addVariables(spec, givable, add);
  for (const { words, pathOf, env, meta } of commandsOf(spec)) {
    const given = givenNames(givable, env, meta);
    const code = codeWords(words);
    for (const [i, word] of words.entries()) {
      const path = pathOf(i);
      const name = references(word).find((one) => given.has(one));
      if (path === undefined || name === undefined) continue;
      if (i === 0) add(path, PROGRAM_TEXT);
      else if (code.has(i)) add(path, scriptText(name));
    }
  }
  return problems;
}

const PROGRAM_TEXT =
  "names the program, which no run may choose: name it here (with a container: in `container.entrypoint`), " +
  "and refer to parameters in the words after it";

function scriptText(name: string): string {
  const variable = name.startsWith("param.") ? paramVariable(name.slice(6)) : undefined;
  const other = variable ?? "a variable of `env` that has this value";
  const inShell = variable === undefined ? "" : ` ("$${variable}" in a shell)`;
  return (
    `has \${${name}} within a script, where the value would be executed: ` +
    `read ${other} there${inShell}, or add "\${${name}}" as a word ` +
    `after the script ("$1" in it, after a word for "$0")`
  );
}

function addUnknown(name: string, { params }: Givable, add: (detail: string) => void): void {
  const [kind = "", field = ""] = [name.slice(0, name.indexOf(".")), name.slice(name.indexOf(".") + 1)];
  if (kind === "param" && !params.includes(field))
    add(
      `has \${${name}}, and the job has no such parameter: declare it in \`params\`, or write $\${${name}}`,
    );
  if (kind === "job" && !JOB_FIELDS.includes(field))
    add(
      `has \${${name}}, which is unknown: there are ${JOB_FIELDS.map((one) => `\${job.${one}}`).join(", ")}`,
    );
}

/** The variables of parameters, and those that say which job it is, have one value each. */
function addVariables(spec: RunSpec, { params }: Givable, add: (path: Path, detail: string) => void): void {
  const taken = new Map([
    ...params.map((name) => [paramVariable(name), "is the variable of a parameter"] as const),
    ...Object.values(JOB_VARIABLES).map((name) => [name, "is set by Drover in each run of a job"] as const),
  ]);
  const places: { at: Path; names: string[] }[] = [{ at: [], names: namesOf(spec) }];
  for (const [i, task] of (spec.tasks ?? []).entries())
    places.push({ at: ["tasks", i], names: namesOf(task) });
  for (const { at, names } of places)
    for (const name of names)
      if (taken.has(name)) add([...at, "env", name], `${taken.get(name)}: use another name`);
}

function namesOf({ env = {}, secrets = {} }: Partial<Pick<RunSpec, "env" | "secrets">>): string[] {
  return [
    ...Object.keys(env),
    ...Object.entries(secrets).flatMap(([key, { as }]) => (as === "env" ? [key] : [])),
  ];
}

/** A command: its words, where each of them stands in the spec, and what its references stand for. */
interface Command {
  words: string[];
  pathOf: (word: number) => Path | undefined;
  env: Record<string, string>;
  meta: Record<string, string>;
}

function commandsOf(spec: RunSpec): Command[] {
  const { env, meta } = spec;
  if (spec.tasks === undefined)
    return [{ ...wordsOf(spec.argv, spec.container?.entrypoint, ["argv"]), env, meta }];
  return spec.tasks.map((task, i) => ({
    ...wordsOf(task.argv, containerOf(spec, task)?.entrypoint, ["tasks", i, "argv"]),
    env: { ...env, ...task.env },
    meta: { ...meta, ...task.meta },
  }));
}

/** In a container, the words follow those of its `entrypoint`, which are not filled in. */
function wordsOf(
  argv: string[] = [],
  entrypoint: string[] = [],
  at: Path,
): Pick<Command, "words" | "pathOf"> {
  const first = entrypoint.length;
  return {
    words: [...entrypoint, ...argv],
    pathOf: (word) => (word < first ? undefined : [...at, word - first]),
  };
}

/**
 * The names whose references a host or Drover replaces in the words of a command by something that a run is
 * given: parameters, and whatever is made from them in `meta` and `env`.
 */
function givenNames(
  { params, metaKeys }: Givable,
  env: Record<string, string>,
  meta: Record<string, string>,
): Set<string> {
  const names = new Set(params.flatMap((name) => [`param.${name}`, paramVariable(name)]));
  const isGiven = (text: string) => references(text).some((name) => names.has(name));
  const keys = Object.entries(meta).flatMap(([key, text]) => (isGiven(text) ? [key] : []));
  for (const key of [...metaKeys, ...keys]) {
    const variable = key.replace(/[^A-Za-z0-9_]/g, "_");
    names.add(`meta.${key}`);
    for (const prefix of ["DROVER", "NOMAD"])
      for (const one of [variable, variable.toUpperCase()]) names.add(`${prefix}_META_${one}`);
  }
  // Found first, since variables cannot refer to each other.
  const variables = Object.entries(env).flatMap(([name, text]) => (isGiven(text) ? [name] : []));
  // Other variables are left to the shell, which does not execute their values.
  for (const name of variables) if (/^(?:DROVER|NOMAD)_/.test(name)) names.add(name);
  return names;
}
