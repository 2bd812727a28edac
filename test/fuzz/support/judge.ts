import { STATUS_OF_CODE } from "../../../src/shared/errors.ts";
import type { Json } from "../../edge/support/edge.ts";
import type { Reply } from "./http.ts";
import type { Document, Operation } from "./operations.ts";
import type { Expectation, Planned } from "./requests.ts";
import { faultsOf, type Schema } from "./schema.ts";

/** How errors point at a field (`schema/problem.ts`). */
const POINTER = /^(\/|\?|\{.+\}$|[\w-]+:$|$)/;

/** A URL that is longer may be refused by what serves Drover. */
const MAX_SERVED_URL_CHARS = 8_192;

/** What is wrong with an answer; nothing if it agrees with the document. */
export function faultsOfAnswer(
  doc: Document,
  operation: Operation,
  planned: Planned,
  reply: Reply,
): string[] {
  const { status } = reply;
  // The server of the runtime refuses it before Drover sees it.
  if (status === 414 && planned.wire.path.length > MAX_SERVED_URL_CHARS) return [];
  if (status >= 400) return problemFaults(doc, operation, planned, reply);
  const faults = expectedFaults(planned.expected, undefined, reply);
  return planned.expected.as === "elsewhere" ? faults : [...faults, ...successFaults(doc, operation, reply)];
}

function successFaults({ schemas }: Document, { answers }: Operation, reply: Reply): string[] {
  const content = answers[String(reply.status)];
  if (content === undefined) return [`${reply.status} is not documented`];
  const type = reply.type.split(";")[0] ?? "";
  if (Object.keys(content).length === 0) return reply.text === "" ? [] : ["there is a body"];
  const schema: Schema | undefined = content[type];
  if (schema === undefined) return [`the content type ${reply.type} is not documented`];
  if (type !== "application/json" || reply.cut) return [];
  const faults = faultsOf(schema, schemas, JSON.parse(reply.text));
  return faults.length === 0 ? [] : [`the body does not fit its schema at ${faults.slice(0, 5).join(", ")}`];
}

function problemFaults(
  doc: Document,
  operation: Operation,
  { expected, lacked }: Planned,
  reply: Reply,
): string[] {
  const { status } = reply;
  if (reply.type !== "application/problem+json") return [`${status} is ${reply.type || "without a type"}`];
  const problem: Json = JSON.parse(reply.text);
  const faults = faultsOf({ $ref: "#/components/schemas/Problem" }, doc.schemas, problem).map(
    (at) => `the problem does not fit its schema at ${at}`,
  );
  const due = Object.hasOwn(STATUS_OF_CODE, problem.code) ? Reflect.get(STATUS_OF_CODE, problem.code) : 0;
  if (due !== status || problem.status !== status)
    faults.push(`${status} is not the status of ${problem.code}`);
  if (status >= 500 && !isDocumented(operation, status, problem.code)) faults.push(`it answered ${status}`);
  if ((expected.as === "open" || expected.as === "lacking") && !isDocumented(operation, status, problem.code))
    faults.push(`${status} ${problem.code} is not documented`);
  if (problem.code === "invalid_request") faults.push(...fieldFaults(problem));
  const scope = problem.code === "missing_scope" ? String(scopeIn(problem)) : undefined;
  if (scope !== undefined && lacked.includes(scope)) return faults;
  if (scope !== undefined) faults.push(`it says that the caller lacks ${scope}`);
  return [...faults, ...expectedFaults(expected, problem, reply)];
}

/** The scope that a refusal names. */
const scopeIn = ({ detail }: Json) => /^this needs the scope ([\w:]+),/.exec(detail)?.[1];

/** Whether the document has this answer. A fault of ours and an outage never count as such. */
function isDocumented({ answers }: Operation, status: number, code: string): boolean {
  const schema: Json = answers[String(status)]?.["application/problem+json"];
  const codes: string[] = schema?.allOf?.[1]?.properties?.code?.enum ?? [];
  return codes.includes(code) && code !== "internal" && code !== "unavailable";
}

function fieldFaults({ errors }: Json): string[] {
  if (!Array.isArray(errors) || errors.length === 0) return ["no field is named"];
  return errors
    .filter(({ pointer, detail }: Json) => !POINTER.test(pointer) || !/\S/.test(detail))
    .map(({ pointer }: Json) => `"${pointer}" is no place`);
}

function expectedFaults(expected: Expectation, problem: Json, { status }: Reply): string[] {
  const code: string | undefined = problem?.code;
  if (expected.as === "code") {
    return expected.codes.includes(code ?? "")
      ? []
      : [`${status} ${code} instead of ${expected.codes.join(" or ")}`];
  }
  if (expected.as === "lacking") {
    const codes = expected.before.length > 0 ? expected.before : ["missing_scope"];
    return codes.includes(code ?? "") ? [] : [`${status} ${code}, but the caller lacks ${expected.scope}`];
  }
  if (expected.as !== "refused") return [];
  if (code !== "invalid_request") return [`${status} ${code} instead of an error at "${expected.where}"`];
  const pointers: string[] = (problem.errors ?? []).map(({ pointer }: Json) => pointer);
  const named = pointers.some((pointer) => isAt(pointer, expected.where));
  return named ? [] : [`"${expected.where}" is wrong, and ${JSON.stringify(pointers.slice(0, 5))} are named`];
}

/**
 * Whether a pointer names the place, something in it, or its parent, where the parent could have another
 * form. `*` is any part.
 */
function isAt(pointer: string, where: string): boolean {
  if (!where.startsWith("/")) return where === "" || pointer === where;
  const [parts, wanted] = [pointer.split("/"), where.split("/")];
  const least = Math.min(parts.length, wanted.length);
  if (least < 2 || wanted.length - parts.length > 1) return false;
  return wanted.slice(0, least).every((part, index) => part === "*" || part === parts[index]);
}
