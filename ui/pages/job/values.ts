// What does a form for the values of a run ask for, and what does it send (jobs.md#parameters)?
import type { Job, JobParam, TriggerRequest } from "../../../src/generated/api.ts";
import { flagsOf, numberOf, textOf } from "../../parts/acts/given.ts";

/** The names of fields that are no parameters. No parameter has a dot in its name. */
export const RUN_FIELDS = { key: "run.key", tick: "run.tick", priority: "run.priority" } as const;
export const PAYLOAD_FIELD = "run.payload";

/** The name of the field for a key of `meta`. */
export function metaField(key: string): string {
  return `meta.${key}`;
}

/** How values are written in fields. Anything else is refused before it is sent. */
export const WRITTEN = { integer: "-?\\d+", number: "-?\\d+(?:\\.\\d+)?(?:[eE][-+]?\\d+)?" } as const;

/** What a value must be like, besides its type. */
export function rulesOf({ enum: values, pattern, maxBytes }: JobParam): string[] {
  return [
    ...(values === undefined ? [] : [`one of ${values.map((one) => JSON.stringify(one)).join(", ")}`]),
    ...(pattern === undefined ? [] : [`must match ${pattern} as a whole`]),
    ...(maxBytes === undefined ? [] : [`at most ${maxBytes} bytes`]),
  ];
}

/** The default of a parameter as its field shows it: the lines of a text end as those of a field do. */
export function shownDefault({ default: value }: JobParam): string | undefined {
  return value === undefined ? undefined : String(value).replaceAll(/\r\n?/g, "\n");
}

/** What is sent. Values that are the defaults are left out, so that a later version's defaults count. */
export function requestOf(job: Pick<Job, "params" | "meta">, given: FormData): TriggerRequest {
  const params = Object.entries(job.params ?? {}).flatMap(([name, param]) => {
    const value = paramValue(param, given.get(name));
    return value === undefined ? [] : [[name, value] as const];
  });
  const { required = [], optional = [] } = job.meta ?? {};
  const meta = [...required, ...optional].flatMap((key) => {
    const value = String(given.get(metaField(key)) ?? "");
    return value === "" && !required.includes(key) ? [] : [[key, value] as const];
  });
  const payload = String(given.get(PAYLOAD_FIELD) ?? "");
  return {
    key: textOf(given, RUN_FIELDS.key),
    tick: textOf(given, RUN_FIELDS.tick),
    params: params.length === 0 ? undefined : Object.fromEntries(params),
    meta: meta.length === 0 ? undefined : Object.fromEntries(meta),
    payload: payload === "" ? undefined : base64Of(payload),
    priority: numberOf(given, RUN_FIELDS.priority),
  };
}

/** The value of a field; undefined: the run is to have the default, or there is no such field. */
function paramValue(
  param: JobParam,
  field: ReturnType<FormData["get"]>,
): string | number | boolean | undefined {
  if (field === null) return undefined;
  const text = String(field);
  const known = shownDefault(param);
  if (text === (known ?? "")) return undefined;
  if (param.type === "string") return text;
  const word = text.trim();
  if (param.type === "boolean") return word === "true" || (word === "false" ? false : word);
  // What is no number stays as it is, and the API refuses it with the reason.
  return new RegExp(`^${WRITTEN[param.type]}$`).test(word) ? Number(word) : word;
}

/** A text as UTF-8 in base64. */
function base64Of(text: string): string {
  return btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(""));
}

/** The same as flags of `drover jobs trigger`. The payload is a file there. */
export function flagsFor({ params, meta, key, tick, payload, priority }: TriggerRequest): string[] {
  const pairs = (values: Record<string, unknown> = {}) =>
    Object.entries(values).map(([name, value]) => `${name}=${value}`);
  return [
    ...flagsOf("--param", pairs(params)),
    ...flagsOf("--meta", pairs(meta)),
    ...flagsOf("--payload", payload === undefined ? [] : ["FILE"]),
    ...flagsOf("--key", [key]),
    ...flagsOf("--tick", [tick]),
    ...flagsOf("--priority", [priority]),
  ];
}
