import {
  below,
  eachFile,
  nowhereInCode,
  type Offence,
  pure,
  type Rule,
  sources,
  specimens,
  tests,
} from "./rule.ts";
import { isCode, lineAt, type SourceFile } from "./source.ts";

/** Clocks, chance and the outside world, as they are written in code. */
const IMPURE = new RegExp(
  [
    String.raw`(?<![\w.])Date\.now\b`,
    String.raw`\bnew Date\(\s*\)`,
    String.raw`(?<![\w.]|new )Date\(`,
    String.raw`\bMath\.random\b`,
    String.raw`(?<![\w.])(?:crypto|performance|process|console|globalThis|navigator|caches|Temporal)\s*[.[]`,
    String.raw`(?<![\w.])(?:fetch|setTimeout|setInterval|setImmediate|queueMicrotask)\s*\(`,
    String.raw`(?<![\w.])(?:async|await)\b`,
    String.raw`(?<![\w.])(?:Promise|WebSocket)\b`,
  ].join("|"),
  "g",
);

/** The files that read the platform's clock, for the Worker and for the page. */
const CLOCKS = ["src/objects/clock.ts", "ui/store/clock.ts"];

const IN_IMPORT = /(?<![.\w])(?:import|export)\b[^;()=]*$/;

/** `as` in code, but for `as const` and renames in imports and exports. */
function casts(file: SourceFile): { at: number; to: string }[] {
  const found: { at: number; to: string }[] = [];
  for (const match of file.code.matchAll(/\bas\s+(?!const\b)([\w{[("'`]\w*(?:\s+as\s+\w+)?)/g)) {
    const before = file.code.slice(Math.max(0, match.index - 600), match.index);
    const isRename = IN_IMPORT.test(before) || /\*\s*$/.test(before);
    if (!isRename) found.push({ at: match.index, to: match[1] ?? "" });
  }
  return found;
}

/** Whether a comment stands on this line or ends on the one above. */
function hasReason(file: SourceFile, line: number): boolean {
  const comments = file.comments.split("\n");
  return [comments[line - 1], comments[line - 2]].some((text) => (text ?? "").trim() !== "");
}

function castsWithoutReason(file: SourceFile): Offence[] {
  const wanted = tests(file.path) ? /^(?:any|unknown as)\b/ : /^/;
  return casts(file)
    .filter(({ to }) => wanted.test(to))
    .map(({ at, to }) => ({ path: file.path, line: lineAt(file.code, at), text: `as ${to}` }))
    .filter(({ line }) => !hasReason(file, line));
}

const EXPORTED_FUNCTION = new RegExp(
  [
    String.raw`^export (?:async )?function\b\s*\*?\s*(\w+)`,
    String.raw`^export const (\w+)(?:: [^=\n]+)? = (?:async )?(?:\([^\n]*\)|\w+)(?:: [^=\n]+)? =>`,
  ].join("|"),
  "gm",
);

function withoutDocBlock(file: SourceFile): Offence[] {
  const documented = new Set<string>();
  return [...file.code.matchAll(EXPORTED_FUNCTION)].flatMap((match) => {
    const name = match[1] ?? match[2] ?? "";
    const line = lineAt(file.code, match.index);
    if (/\*\/\s*$/.test(file.lines[line - 2] ?? "")) documented.add(name);
    return documented.has(name) ? [] : [{ path: file.path, line, text: name }];
  });
}

/** Set, not read: reading what the platform has set is right. */
const PLATFORM_FLAG = new RegExp(
  [
    String.raw`(?<![.\w])(?:retryable|overloaded)\s*:\s*(?!boolean\b|unknown\b)`,
    String.raw`\b(?:retryable|overloaded)\s*=(?![=>])`,
  ].join("|"),
  "g",
);

/** What the code may not say. */
export const CODE_RULES: Rule[] = [
  {
    name: "pure-decisions",
    mend: "time, chance and ids are arguments: take what you need as one, and let the shell around you act",
    find: nowhereInCode(pure, IMPURE),
  },
  {
    name: "one-alarm",
    mend: "only src/objects/alarm.ts sets alarms (rule R8: never in the past, never without need): call it",
    find: nowhereInCode(
      (path) => sources(path) && path !== "src/objects/alarm.ts",
      /\.(?:set|delete)Alarm\s*\(/g,
    ),
  },
  {
    name: "one-clock",
    mend: "this clock may be wrong: take `droverNow` of src/objects or ui/store, routes `c.env.now`",
    find: nowhereInCode(
      (path) => below("src/", "ui/")(path) && sources(path) && !CLOCKS.includes(path),
      /\bDate\.now\b|\bnew Date\(\s*\)|(?<![\w.]|new )Date\(/g,
    ),
  },
  {
    name: "no-default-export",
    mend: "export it by its name: only the Worker and what vitest loads must have a default",
    find: nowhereInCode(
      (path) => isCode(path) && !below("src/worker.ts", "vitest.config.ts", "test/order/in-time.ts")(path),
      /^export default\b|^export\s*\{[^}]*\bas default\b/gm,
    ),
  },
  {
    name: "casts-have-reasons",
    mend: "let the types say it, or write beside it (this line or the one above) why it is true",
    find: eachFile((path) => sources(path) || tests(path), castsWithoutReason),
  },
  {
    name: "doc-blocks",
    mend: "say above it what it decides or does, units, errors, and the rule that it follows",
    find: eachFile((path) => isCode(path) && !tests(path) && !specimens(path), withoutDocBlock),
  },
  {
    name: "no-focus-no-skip",
    mend: "run every test; where a machine lacks something use `skipIf` with what it lacks",
    find: nowhereInCode(tests, /\b(?:test|it|describe|suite)(?:\.\w+)*\.(?:only|skip|todo|fails)\b/g),
  },
  {
    name: "platform-flags",
    mend: "the platform sets `retryable`, `overloaded` (platform.md#calls-and-faults): use `temporary`",
    find: nowhereInCode(sources, PLATFORM_FLAG),
  },
];
