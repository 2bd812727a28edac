import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { applyParams, withMeta } from "../../../src/core/job/params/apply.ts";
import { fill, literalText, paramVariable } from "../../../src/core/job/params/fill.ts";
import { MAX_PARAM_BYTES } from "../../../src/shared/jobs/limits.ts";
import { sized } from "../../chance/length.ts";
import { JOB, onHost, spec } from "./support/spec.ts";

/** What a text says that has parameters, after the host has read it as a word, or as a value of `env`. */
function asRead(text: string, params: Record<string, string>): string[] {
  const { argv, env } = onHost({ argv: ["echo", text], env: { TEXT: text } }, params);
  return [argv[1] ?? "", env.TEXT ?? ""];
}

describe("case 25: a value arrives byte for byte, in one word (jobs.md#bytes)", () => {
  test.each([
    ["a command of a shell", '"; rm -rf /"'],
    ["quotes and a line end", 'it\'s "so"\n\\n'],
    ["words", "a b  c"],
    ["a substitution of a shell", "$(id) `id` $HOME ${HOME}"],
    ["names of Drover", "${DROVER_RUN_ID} ${node.unique.id} ${meta.color} ${DROVER_PARAM_OTHER}"],
    ["escaped names", "$${DROVER_RUN_ID} $${HOME} $$${meta.color} $$$${x}"],
    ["a reference of a job", "${param.other} ${job.name} $${param.other}"],
    ["half a reference", "${ ${meta.color $ {} }"],
    ["a pattern of a replacement", "$& $1 $$ $`"],
    ["an option", "--help"],
    ["nothing", ""],
    ["every language", "žluťoučký 🐎 日本語 \u202e"],
    ["64 KiB", "x".repeat(MAX_PARAM_BYTES)],
    ["64 KiB of references", "${meta.color}$${HOME}".repeat(3_000)],
  ])("%s", (_what, value) => {
    const params = { x: value, other: "other" };
    const fields = {
      argv: ["echo", "${param.x}", "a${param.x}b"],
      meta: { color: "red" },
      env: { X: "a${param.x}b" },
    };
    const { argv, env } = onHost(fields, params);
    expect(argv).toEqual(["echo", value, `a${value}b`]);
    expect(env).toMatchObject({ X: `a${value}b`, DROVER_PARAM_X: value, DROVER_PARAM_OTHER: "other" });
  });

  // Characters that mean something to a reference, and names that hosts know.
  const piece = fc.constantFrom(
    "$",
    "{",
    "}",
    "a",
    ".",
    "HOME",
    "DROVER_RUN_ID",
    "meta.color",
    "${meta.color}",
    "$$",
  );
  const value = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(""));
  const around = fc.constantFrom("", "{", "}", "a", "$ ", "HOME}", "{DROVER_RUN_ID}", "meta.color}");

  test("whatever stands beside it", () => {
    fc.assert(
      fc.property(value, value, around, around, around, (a, b, before, between, after) => {
        const template = `${before}\${param.a}${between}\${param.b}${after}`;
        const expected = `${before}${a}${between}${b}${after}`;
        expect(asRead(template, { a, b })).toEqual([expected, expected]);
      }),
      { numRuns: sized(2_000, 100_000) },
    );
  });

  test("a value of `meta` is given to a run without being read, too (jobs.md#meta)", () => {
    fc.assert(
      fc.property(value, (text) => {
        const meta = withMeta({ fixed: "${HOME}" }, { given: text });
        const { env } = onHost({ meta }, {});
        expect(env).toMatchObject({ DROVER_META_given: text, DROVER_META_fixed: "/data/host" });
      }),
      { numRuns: sized(500, 20_000) },
    );
  });
});

describe("what the author of a job writes stands for what it says (jobs.md#filling-in)", () => {
  test.each([
    ["a reference of the host beside a parameter", "${meta.color}-${param.x}-${DROVER_RUN_ID}", "red-v-a-1"],
    ["a parameter directly after one", "${meta.color}${param.x}", "redv"],
    ["an escaped parameter", "$${param.x}", "${param.x}"],
    ["a dollar sign before an escaped parameter", "$$${param.x}", "$${param.x}"],
    ["the job", "${job.name}@${job.version} ${job.tick}", "nightly@7 2026-11-22T01:30:00.000Z"],
    ["a dollar sign and a parameter", "$ ${param.x}", "$ v"],
    ["a parameter within a reference", "${${param.x}}", "${v}"],
    ["a parameter within a name", "${meta.${param.color}}", "${meta.color}"],
  ])("%s: %s", (_what, text, expected) => {
    const fields = { argv: ["echo", text], env: { TEXT: text }, meta: { color: "red" } };
    const { argv, env } = onHost(fields, { x: "v", color: "color" });
    expect([argv[1], env.TEXT]).toEqual([expected, expected]);
  });

  test("labels and images are read by nobody else, so nothing in them is escaped", () => {
    const fields = {
      labels: { branch: "b-${param.x}", as: "$${param.x}", left: "${HOME}" },
      container: { image: "node:24" },
    };
    const applied = applyParams(spec(fields), { params: { x: "${HOME}$" }, job: JOB });
    expect(applied.problems).toBeUndefined();
    expect(applied.problems === undefined && applied.values.labels).toEqual({
      branch: "b-${HOME}$",
      as: "${param.x}",
      left: "${HOME}",
    });
    expect(fill("node:${param.v}", { params: { v: "24" }, job: JOB }, "plain")).toBe("node:24");
  });

  test("the tasks of a group are filled in as well, and nothing else in them", () => {
    const tasks = [
      {
        name: "first",
        lifecycle: { hook: "prestart" },
        argv: ["echo", "${param.x}"],
        env: { A: "${param.x}" },
      },
      { name: "main", argv: ["cat"], stdin: "${param.x}", meta: { note: "n ${param.x}" } },
    ];
    const applied = applyParams(spec({ argv: undefined, tasks }), { params: { x: "v" }, job: JOB });
    expect(applied.problems === undefined && applied.values.tasks).toMatchObject([
      { argv: ["echo", "v"], env: { A: "v" } },
      { stdin: "${param.x}", meta: { note: "n v" } },
    ]);
  });

  test("a job without parameters has the spec as it was written", () => {
    const one = spec({ argv: ["echo", "$HOME", "${HOME}"], env: { A: "$${B}" }, labels: { a: "b" } });
    expect(applyParams(one, { params: {}, job: JOB })).toEqual({ values: one });
  });
});

test("a value that ends with `$` before a reference of `env` is refused, since it would escape it", () => {
  const one = spec({
    env: { A: "${param.x}${HOME}" },
    argv: ["echo", "${param.x}${meta.color}"],
    meta: { color: "red" },
  });
  expect(applyParams(one, { params: { x: "5$" }, job: JOB })).toEqual({
    problems: [
      {
        pointer: "/x",
        detail:
          'must not end with "$": a reference follows it at /env/A of the spec, ' +
          "and would become an escaped one",
      },
    ],
  });
  expect(onHost({ ...one, env: {} }, { x: "5$" }).argv).toEqual(["echo", "5$red"]);
});

test("the variable of a parameter is its name in capitals", () => {
  expect(paramVariable("gitBranch_2")).toBe("DROVER_PARAM_GITBRANCH_2");
});

test("a text without references is literal as it is", () => {
  expect(literalText("$HOME $5 {a}")).toBe("$HOME $5 {a}");
  expect(literalText("${a} $${b}")).toBe("$${a} $$${b}");
});
