/** Small repositories, each with one offender, to show that a rule can fail. */
interface Plant {
  rule: string;
  /** Files by path. */
  files: Record<string, string>;
  /** Where the rule must find something, and nowhere else. */
  at: string[];
}

export const PLANTS: Plant[] = [
  {
    rule: "file-length",
    files: {
      "src/long.ts": "\n".repeat(401),
      "src/full.ts": "\n".repeat(400),
      "test/long.ts": "\n".repeat(401),
    },
    at: ["src/long.ts:401"],
  },
  {
    rule: "object-class-length",
    files: { "src/objects/pool.ts": "\n".repeat(200), "src/objects/alarm.ts": "\n".repeat(200) },
    at: ["src/objects/pool.ts:200"],
  },
  {
    rule: "line-length",
    files: { "src/wide.ts": `// ${"x".repeat(107)}\n// ${"x".repeat(108)}\n`, "wide.md": "x".repeat(200) },
    at: ["src/wide.ts:2"],
  },
  {
    rule: "kebab-case",
    files: { "src/cloudWorker.ts": "", "src/cloud-worker.test.ts": "", ".ci/run": "", "README.md": "" },
    at: ["src/cloudWorker.ts:1"],
  },
  {
    rule: "small-folders",
    files: Object.fromEntries(
      ["src/full", "src/crowded", "test/many", "cli/verbs"].flatMap((folder) =>
        Array.from({ length: folder === "src/full" ? 15 : 16 }, (_, n) => [`${folder}/f${n}.ts`, ""]),
      ),
    ),
    at: ["src/crowded:1"],
  },
  {
    rule: "head-comments",
    files: {
      "cli/a.ts": "// Which question?\nconst a = 1;",
      "cli/b.ts": "/** A doc block. */\nconst b = 1;",
      "cli/c.ts": "// 1\n// 2\n// 3\n// 4\nconst c = 1;",
      "demo/d.ts": "const d = 1;",
    },
    at: ["cli/b.ts:1", "cli/c.ts:1"],
  },
  {
    rule: "no-open-ends",
    files: { "docs/a.md": "Done.\nTODO: the rest", "src/a.ts": "// a list of todos" },
    at: ["docs/a.md:2"],
  },
  {
    rule: "no-paths-of-a-machine",
    files: { "src/a.ts": "const a = `$" + '{dir}/work/x`;\nconst b = "/work/main";\nimport "../work/x.ts";' },
    at: ["src/a.ts:2"],
  },
  {
    rule: "no-registry-hosts",
    files: {
      "package-lock.json": '{\n"resolved": "https://registry.npmjs.org/x"',
      "a.md": "the npm package",
    },
    at: ["package-lock.json:2"],
  },
  {
    rule: "american-spelling",
    files: { "a.md": "Behavior, canceled, colors.\nIts behaviour is initialised." },
    at: ["a.md:2", "a.md:2"],
  },
  {
    rule: "no-console-log",
    files: {
      "src/a.ts": 'console.error({ a });\nconsole.log("here");\n// console.log',
      "cli/a.ts": "console.log(1);",
    },
    at: ["src/a.ts:2"],
  },
  ...[
    "const now = Date.now();",
    "const now = new Date();",
    "const chance = Math.random();",
    "const id = crypto.randomUUID();",
    "fetch(url);",
    "setTimeout(go, 1);",
    "const home = process.env.HOME;",
    "export async function go() {}",
    "const key = globalThis[name];",
    "const both = Promise.all(all);",
    "const t = `a$" + "{Date.now()}b`;",
  ].map((line) => ({
    rule: "pure-decisions",
    files: { "src/core/a.ts": `\n${line}` },
    at: ["src/core/a.ts:2"],
  })),
  {
    rule: "pure-decisions",
    files: {
      "src/core/a.ts":
        'new Date(now).toISOString(); // Date.now()\nconst a = "await"; /fetch(x)/.test(a); run.process.pid;',
      "agent/core/a.ts": "/** Math.random() */\nconst b = `setTimeout(`;\nconst c = 4 / Date.now() / 2;",
      "src/objects/a.ts": "Date.now();",
    },
    at: ["agent/core/a.ts:3"],
  },
  {
    rule: "one-clock",
    files: {
      "src/objects/clock.ts": "Date.now();",
      "src/objects/a.ts": "const now = droverNow();\nrefuse(() => Date.now()); // Date.now()\nnew Date(now);",
      "src/routes/a.ts": "new Date();",
      "local/a.ts": "Date.now();",
      "ui/store/clock.ts": "Date.now();",
      "ui/pages/a.tsx": "const since = Date.now() - 1;",
    },
    at: ["src/objects/a.ts:2", "src/routes/a.ts:1", "ui/pages/a.tsx:1"],
  },
  {
    rule: "one-alarm",
    files: {
      "src/objects/pool.ts": "\nstorage.setAlarm(1);",
      "src/objects/alarm.ts": "storage.setAlarm(1);",
    },
    at: ["src/objects/pool.ts:2"],
  },
  {
    rule: "no-default-export",
    files: { "src/worker.ts": "export default {};", "src/a.ts": "\nexport default {};" },
    at: ["src/a.ts:2"],
  },
  {
    rule: "casts-have-reasons",
    files: {
      "src/a.ts": [
        "const a = b as C;",
        "const d = b as const;",
        'import { e as f } from "./f.ts";',
        "export type {",
        "  G as H,",
        '} from "./f.ts";',
        "// The platform says so.",
        "const i = b as unknown as C;",
        "const j = b as unknown as C; // The platform says so.",
        'import * as k from "./f.ts";',
      ].join("\n"),
      "test/a.ts": "const a = b as C;\n\nconst d = b as any;\n\nconst e = b as unknown as C;",
    },
    at: ["src/a.ts:1", "test/a.ts:3", "test/a.ts:5"],
  },
  {
    rule: "doc-blocks",
    files: {
      "src/a.ts": [
        "/** Goes. */",
        "export function go() {}",
        "// Stops.",
        "export async function stop() {}",
        "",
        "export const wait = (a: number) => a;",
        "function own() {}",
        "export const BOUND = 1;",
      ].join("\n"),
    },
    at: ["src/a.ts:4", "src/a.ts:6"],
  },
  {
    rule: "no-focus-no-skip",
    files: {
      "test/a.test.ts":
        'test("a");\ntest.only("b");\ndescribe.skip("c");\ntest.skipIf(x)("d");\nnext.skip();',
    },
    at: ["test/a.test.ts:2", "test/a.test.ts:3"],
  },
  {
    rule: "platform-flags",
    files: {
      "src/a.ts": "if (error.overloaded === true) return;\nthrow Object.assign(e, { retryable: true });",
    },
    at: ["src/a.ts:2"],
  },
  {
    rule: "platform-flags",
    files: {
      "src/a.ts": "type Flags = { retryable?: boolean; overloaded?: boolean };\nthis.overloaded = true;",
    },
    at: ["src/a.ts:2"],
  },
  ...[
    ["src/schema/a.ts", 'import { b } from "../core/rows.ts";'],
    ["src/core/a.ts", 'import { b } from "../schema/run.ts";'],
    ["src/core/a.ts", 'import type { b } from "../objects/rpc.ts";'],
    ["src/core/a.ts", 'import {\n  b,\n  type c,\n} from "../schema/run.ts";'],
    ["src/core/a.ts", 'import "node:fs";'],
    ["src/core/a.ts", 'export { b } from "zod";'],
    ["src/probes/a.ts", 'import { b } from "../core/messages.ts";'],
    ["src/objects/a.ts", 'import type { b } from "../routes/app.ts";'],
    ["src/routes/a.ts", 'import { b } from "../objects/rpc.ts";'],
    ["src/routes/a.ts", 'import type { b } from "../objects/pool.ts";'],
    ["agent/a.ts", 'import { b } from "../src/schema/run.ts";'],
    ["agent/core/a.ts", 'import type { b } from "../journal.ts";'],
    ["client/a.ts", 'const b = await import("../cli/run.ts");'],
    ["client/a.ts", 'import type { b } from "../src/schema/run.ts";'],
    ["client/a.ts", 'import { b } from "../src/generated/agent-bundle.ts";'],
    ["cli/a.ts", 'import type { b } from "../src/schema/run.ts";'],
    ["cli/a.ts", 'import { b } from "../src/generated/api.ts";'],
    ["local/a.ts", 'type B = import("../src/core/rows.ts").Rows<string>;'],
    ["elsewhere/a.ts", 'import { b } from "./b.ts";'],
  ].map(([path = "", text = ""]) => ({
    rule: "import-matrix",
    files: { [path]: `\n${text}` },
    at: [`${path}:2`],
  })),
  {
    rule: "import-matrix",
    files: {
      "src/schema/a.ts": 'import { b } from "../shared/limits.ts";\nimport { z } from "zod";',
      "src/core/a.ts": [
        'import type { b } from "../schema/run.ts";',
        'export type { c } from "../schema/run.ts";',
        'import { type d, type e } from "../schema/run.ts";',
        'type F = import("../schema/run.ts").RunSpec;',
        'import { g } from "./worker/state.ts";',
        '// import { h } from "node:fs";',
        "const text = 'import i from \"node:fs\"';",
      ].join("\n"),
      "src/routes/a.ts": 'import type { Objects } from "../objects/rpc.ts";\nimport { Hono } from "hono";',
      "agent/a.ts": 'import { host } from "./core/host.ts";\nimport { spawn } from "node:child_process";',
      "cli/up.ts": 'const { upCommand } = await import("../local/up-command.ts");',
      "test/a.ts": 'import { pool } from "../src/objects/pool.ts";',
    },
    at: [],
  },
  {
    rule: "no-type-cycles",
    files: {
      "src/a.ts": 'import type { B } from "./b.ts";\nimport { d } from "./d.ts";',
      "src/b.ts": '\nimport { c } from "./c.ts";',
      "src/c.ts": 'import "./a.ts";',
      "src/d.ts": 'import "./e.ts";',
      "src/e.ts": "",
      "test/a.ts": 'import "./b.ts";',
      "test/b.ts": 'import "./a.ts";',
    },
    at: ["src/a.ts:1", "src/b.ts:2", "src/c.ts:1"],
  },
  {
    rule: "portable-shell",
    files: {
      "src/objects/actor.ts": 'import { b } from "./b.ts";\nimport type { c } from "./c.ts";',
      "src/objects/b.ts": '\nimport { d } from "cloudflare:workers";',
      "src/objects/c.ts": 'import { d } from "cloudflare:workers";',
    },
    at: ["src/objects/b.ts:2"],
  },
  {
    rule: "one-client",
    files: {
      "client/transport/http.ts": "\nfetch(url);",
      "client/a.ts": '\nconst path = "/v1/runs";\n// "/v1/runs"',
      "cli/a.ts": '\nawait fetch(url);\nconst help = "see PUT /v1/pools";',
      "local/a.ts": '\nfetch("/v1/pools");',
      "ui/api/send.ts": "\nfetch(url);",
      // What ends an element of JSX begins no pattern, which would hide the rest of the line.
      "ui/a.tsx": "\nconst b = <b onClick={() => <i>x</i> || fetch(url)}>x</b>;",
    },
    at: ["client/a.ts:2", "cli/a.ts:2", "ui/a.tsx:2"],
  },
  {
    rule: "one-runtime",
    files: {
      "local/runtime/runtime.ts": 'import "miniflare";\nimport "wrangler";',
      "local/up.ts": '\nimport { Miniflare } from "miniflare";',
    },
    at: ["local/runtime/runtime.ts:2", "local/up.ts:2"],
  },
  {
    rule: "no-dead-files",
    files: {
      "package.json": '{ "scripts": { "build": "node scripts/build.mjs" } }',
      "scripts/build.mjs": 'build("cli/main.ts");',
      "cli/main.ts": 'import { a } from "./a.ts";\nimport("./lazy.ts");',
      "cli/a.ts": "",
      "cli/lazy.ts": "",
      "cli/forgotten.ts": 'import { a } from "./a.ts";',
      "cli/tested.ts": "",
      "test/tested.test.ts": 'import "../cli/tested.ts";\nimport "./support/used.ts";',
      "test/support/used.ts": "",
      "test/support/unused.ts": "",
    },
    at: ["cli/forgotten.ts:1", "cli/tested.ts:1", "test/support/unused.ts:1"],
  },
  {
    rule: "exact-pins",
    files: { "package.json": '{ "dependencies": {\n"hono": "4.13.19",\n"zod": "^4.6.7" } }' },
    at: ["package.json:3"],
  },
  {
    rule: "citations-resolve",
    files: {
      "docs/design/rules.md": '## R1\n\n## Invariant 2\n\n| <a id="row-3"></a>3 | x |\n',
      "docs/a.md":
        "# A b, c\n\n[x](design/rules.md#r1) [y](design/rules.md#r9) [z](gone.md) [web](https://x.y/z.md)\n",
      "src/good.ts":
        "// rules.md#row-3, a.md#a-b-c, rule R1, invariant 2, `rules.md`\nconst file = 'notes.md';",
      "src/bad.ts":
        "// rules.md#row-4\n// gone.md\n// rule R2\n// invariant 3\n// rules.md §1\nx('gone.md#a');",
    },
    at: [
      "docs/a.md:3",
      "docs/a.md:3",
      "src/bad.ts:5",
      "src/bad.ts:1",
      "src/bad.ts:6",
      "src/bad.ts:2",
      "src/bad.ts:3",
      "src/bad.ts:4",
    ],
  },
  {
    rule: "named-files-exist",
    files: {
      "docs/design/a.md": "`src/a.ts`, `b/{c,d}.ts`,\n`gone.ts`, `dist/x.mjs`\n`b/{c,e}.ts`",
      "src/a.ts": "",
      "src/b/c.ts": "",
      "src/b/d.ts": "",
    },
    at: ["docs/design/a.md:2", "docs/design/a.md:3"],
  },
];
