// What does an editor show of a pool, and what has the person made of it?
import { CliError } from "../errors.ts";
import { jsonFault } from "../json-file.ts";
import { type Ruled, ruled } from "../pool-check/rules.ts";
import { printable } from "../terminal/text.ts";

/** What is wrong with a text. `line`: where, counted in the JSON alone. */
export interface Fault {
  text: string;
  line?: number;
}

/** What a text means. `same`: the configuration is as it was. */
export type Meant =
  | { kind: "same" }
  | { kind: "empty" }
  | { kind: "faulty"; faults: Fault[] }
  | { kind: "changed"; config: object };

const COMMENT = /^\s*#/;

/**
 * A text for an editor: comments with what is wrong with it, if anything, and the JSON. Numbers of lines are
 * those of the whole text, so that an editor can go there.
 */
export function documentOf(pool: string, json: string, faults: readonly Fault[]): string {
  const head =
    faults.length === 0
      ? [
          `The configuration of the pool ${printable(pool)}. docs/machines.md says what each field means.`,
          "Lines at the top that begin with # are left out. Leave it as it is, or empty, to change nothing.",
        ]
      : [
          `The pool ${printable(pool)} is not changed yet. What is wrong:`,
          ...faults.map((fault) => `  ${faultText(fault, faults.length + HEAD_LINES)}`),
          "Correct it. Leave it as it is to give up: the text is kept.",
        ];
  return `${head.map((line) => `# ${line}\n`).join("")}${json.trimEnd()}\n`;
}

/** How many lines of comments there are besides those of the faults. */
const HEAD_LINES = 2;

function faultText({ text, line }: Fault, linesBefore: number): string {
  return line === undefined ? printable(text) : `line ${line + linesBefore}: ${printable(text)}`;
}

/** The JSON of a text: all but the comments at its top. */
export function jsonIn(document: string): string {
  const lines = document.split("\n");
  const first = lines.findIndex((line) => !COMMENT.test(line));
  return first === -1 ? "" : lines.slice(first).join("\n");
}

/** What a text means for the pool whose configuration is `before`. The rules are those of the server. */
export function meantBy(pool: string, document: string, before: object): Meant {
  const json = jsonIn(document);
  if (json.trim() === "") return { kind: "empty" };
  const read = parsed(json);
  if ("fault" in read) return { kind: "faulty", faults: [read.fault] };
  const { content } = read;
  if (JSON.stringify(content) === JSON.stringify(before)) return { kind: "same" };
  const rules: Ruled = ruled(pool, content);
  if ("config" in rules) return { kind: "changed", config: content };
  return {
    kind: "faulty",
    faults: rules.faults.map(({ path, message }) => ({ text: `${path}: ${message}` })),
  };
}

function parsed(json: string): { content: object } | { fault: Fault } {
  let content: unknown;
  try {
    content = JSON.parse(json);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const { text, line, column } = jsonFault(json, error);
    return { fault: { text: `${text} (column ${column})`, line } };
  }
  const isObject = typeof content === "object" && content !== null && !Array.isArray(content);
  return isObject && content !== null
    ? { content: Object(content) }
    : { fault: { text: "it must be one JSON object", line: 1 } };
}

/** The command of the person's editor. Throws a `CliError` if none is set. */
export function editorIn(env: NodeJS.ProcessEnv): string {
  const editor = env.VISUAL || env.EDITOR;
  if (editor !== undefined && editor !== "") return editor;
  throw new CliError("No editor is set.", [
    "Set one: export EDITOR=nano. Or use a file: drover apply -f pool.json",
  ]);
}
