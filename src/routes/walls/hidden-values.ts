// Which values of a run are shown only to those who may read them (access.md#hidden-values)?
import type { RunStatus } from "../../schema/run/run.ts";
import type { RunSpec } from "../../schema/run/run-spec.ts";
import { HIDDEN } from "../../shared/access/hidden.ts";
import type { FieldError } from "../../shared/errors.ts";
import { invalid } from "../http/invalid.ts";

export { HIDDEN } from "../../shared/access/hidden.ts";

/**
 * The status of a run with its environment, its standard input, the content of its payload and the headers of
 * its checks hidden. Names of variables and headers, and the path of the payload, stay visible.
 */
export function withHiddenValues(status: RunStatus): RunStatus {
  return { ...status, spec: hiddenSpec(status.spec) };
}

/** A spec of a run or of a job with the same values hidden. */
export function hiddenSpec<Spec extends Holder & { tasks?: Holder[] | undefined }>(spec: Spec): Spec {
  const tasks = spec.tasks?.map((task) => ({ ...task, ...hidden(task) }));
  return { ...spec, ...hidden(spec), ...(tasks === undefined ? {} : { tasks }) };
}

type Holder = Partial<Pick<RunSpec, "stdin" | "payload" | "checks">> & {
  env?: Record<string, string> | undefined;
};

function hidden({ env, stdin, payload, checks }: Holder) {
  return {
    ...(env === undefined ? {} : { env: hiddenMap(env) }),
    ...(stdin === undefined ? {} : { stdin: HIDDEN }),
    ...(payload === undefined ? {} : { payload: { ...payload, content: HIDDEN } }),
    ...(checks === undefined ? {} : { checks: checks.map(withHiddenHeaders) }),
  };
}

type Check = NonNullable<RunSpec["checks"]>[number];

/** A header often has a password or a token of the task. */
function withHiddenHeaders(check: Check): Check {
  const { http } = check;
  if (http?.headers === undefined) return check;
  return { ...check, http: { ...http, headers: hiddenMap(http.headers) } };
}

function hiddenMap(map: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.keys(map).map((name) => [name, HIDDEN]));
}

/**
 * Throws `invalid_request` if a spec contains the placeholder of a hidden value. A spec that was read without
 * `runs:env` contains the placeholder, and storing this spec would overwrite the value.
 */
export function refuseHidden(spec: RunSpec, pointer: string): void {
  const fields: FieldError[] = [];
  const lookIn = (map: Record<string, string>, at: string) => {
    for (const [name, value] of Object.entries(map))
      if (value === HIDDEN) fields.push(fault(`${at}/${name.replaceAll("~", "~0")}`));
  };
  const look = ({ env = {}, stdin, payload, checks = [] }: Holder, at: string) => {
    lookIn(env, `${at}/env`);
    if (stdin === HIDDEN) fields.push(fault(`${at}/stdin`));
    if (payload?.content === HIDDEN) fields.push(fault(`${at}/payload/content`));
    for (const [n, { http }] of checks.entries())
      lookIn(http?.headers ?? {}, `${at}/checks/${n}/http/headers`);
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
