// How recorded examples get into the OpenAPI document.
import recorded from "./example-answers.json" with { type: "json" };
import { EXAMPLES, type Example } from "./examples.ts";

/** A part that can have examples: a parameter, or a body of one type. */
interface Holder {
  name?: string;
  examples?: Record<string, { summary: string; value: unknown }>;
}

interface Content {
  content?: Record<string, Holder>;
}

/** The parts of an operation that have examples. */
interface Operation {
  operationId: string;
  parameters?: Holder[];
  requestBody?: Content;
  responses: Record<string, Content>;
}

const answers: Record<string, { type: string; value: unknown } | undefined> = recorded;

/** Adds an operation's examples to its parameters, its body and its answers. */
export function addExamples(made: object): void {
  const operation = made as Operation; // zod-openapi writes our routes without references
  const { operationId, parameters = [], requestBody, responses } = operation;
  for (const example of EXAMPLES) {
    if (example.operation !== operationId) continue;
    for (const parameter of parameters) {
      add(parameter, example, example.params?.[parameter.name ?? ""]);
    }
    add(Object.values(requestBody?.content ?? {})[0], example, example.body);
    const answer = answers[keyOf(example)];
    add(responses[example.status]?.content?.[answer?.type ?? ""], example, answer?.value);
  }
}

/** The key of an example's recorded answer. */
export function keyOf({ operation, name }: Example): string {
  return `${operation}/${name}`;
}

function add(holder: Holder | undefined, { name, summary }: Example, value: unknown): void {
  if (holder === undefined || value === undefined) return;
  holder.examples = { ...holder.examples, [name]: { summary, value } };
}
