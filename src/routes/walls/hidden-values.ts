// Which values of a run are shown only to those who may read them (access.md#hidden-values)?
import type { RunStatus } from "../../schema/run/run.ts";
import type { RunSpec } from "../../schema/run/run-spec.ts";
import type { FieldError } from "../../shared/errors.ts";
import { invalid } from "../http/invalid.ts";

/** Replaces a value that the token may not read. */
export const HIDDEN = "[hidden: reading it needs runs:env]";

/** The status of a run with its environment and standard input hidden. Names of variables stay visible. */
export function withHiddenValues(status: RunStatus): RunStatus {
  const { spec } = status;
  const tasks = spec.tasks?.map((task) => ({ ...task, ...hidden(task) }));
  return { ...status, spec: { ...spec, ...hidden(spec), ...(tasks === undefined ? {} : { tasks }) } };
}

type Holder = { env?: Record<string, string> | undefined; stdin?: string | undefined };

function hidden<Of extends Holder>({ env, stdin }: Of) {
  return {
    ...(env === undefined ? {} : { env: Object.fromEntries(Object.keys(env).map((name) => [name, HIDDEN])) }),
    ...(stdin === undefined ? {} : { stdin: HIDDEN }),
  };
}

/**
 * Throws `invalid_request` if a spec contains the placeholder of a hidden value. A spec that was read without
 * `runs:env` contains the placeholder, and storing this spec would overwrite the value.
 */
export function refuseHidden(spec: RunSpec, pointer: string): void {
  const fields: FieldError[] = [];
  const look = ({ env = {}, stdin }: Holder, at: string) => {
    for (const [name, value] of Object.entries(env))
      if (value === HIDDEN) fields.push(fault(`${at}/env/${name}`));
    if (stdin === HIDDEN) fields.push(fault(`${at}/stdin`));
  };
  look(spec, pointer);
  for (const [index, task] of (spec.tasks ?? []).entries()) look(task, `${pointer}/tasks/${index}`);
  if (fields.length > 0) throw invalid(fields);
}

function fault(pointer: string): FieldError {
  const detail =
    "is the placeholder of a hidden value; send the value itself, or read the run with a token that has " +
    "runs:env";
  return { pointer, detail };
}
