// Reads the repository and polices what neither the compiler nor the linter can say.
//
// * file-length: at most 400 lines, tests at most 700
// * object-class-length: the four Durable Object classes stay below 200 lines each
// * line-length: at most 110 characters, where Biome cannot wrap: comments and strings
// * kebab-case: names of files and folders
// * small-folders: at most 15 files side by side, but for the root, tests, documents and the verbs
// * head-comments: a file opens by saying which question it answers, in at most three lines; folder by folder
// * no-open-ends: no reminders of unfinished work
// * no-paths-of-a-machine: no absolute paths that exist on one machine only
// * no-registry-hosts: nobody's package registry
// * american-spelling: the common words that differ
// * no-console-log: the Worker and the client print nothing
// * pure-decisions: no clock, chance or I/O in src/core, src/probes and agent/core
// * one-alarm: only src/objects/alarm.ts sets alarms
// * one-clock: only src/objects/clock.ts reads the platform's clock, and in the page only ui/store/clock.ts
// * no-default-export: but for the Worker and what vitest loads
// * casts-have-reasons: a cast has a comment beside it; in tests only casts by way of `any` and `unknown`
// * doc-blocks: every exported function has one, but in tests
// * no-focus-no-skip: no test is left out by its text
// * platform-flags: no error of ours has the properties that the platform sets
// * import-matrix: who may import what, types told apart from values
// * no-type-cycles: no product file imports itself by way of others, not even for a type
// * portable-shell: what src/objects/actor.ts pulls in at run time runs in Node
// * one-client: the command, the client and the page ask by the names of routes, and only two files send
// * one-runtime: miniflare is imported by local/runtime/runtime.ts alone, wrangler by no source
// * no-dead-files: every source is reached from what people and tools start, every other file from a test
// * exact-pins: package.json names one version of each package
// * citations-resolve: what code, tests and documents cite is there, down to the heading
// * named-files-exist: the design names files as they are called now
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CITATION_RULES } from "./tidy/citations.ts";
import { CODE_RULES } from "./tidy/code.ts";
import { PLANTS } from "./tidy/plants.ts";
import type { Offence, Rule } from "./tidy/rule.ts";
import { SHAPE_RULES } from "./tidy/shape.ts";
import { repositoryFiles, sourceFile } from "./tidy/source.ts";
import { WHOLE_RULES } from "./tidy/whole.ts";

const RULES = [...SHAPE_RULES, ...CODE_RULES, ...WHOLE_RULES, ...CITATION_RULES];
const repository = repositoryFiles(join(import.meta.dirname, ".."));

describe("the repository keeps the rule", () => {
  test.each(RULES)("$name", (rule) => {
    expect(rule.find(repository).map((offence) => report(rule, offence))).toEqual([]);
  });
});

function report({ mend }: Rule, { path, line, text }: Offence): string {
  return `${path}:${line} ${text}: ${mend}`;
}

test("the head of this file lists exactly the rules there are", () => {
  const head = readFileSync(new URL(import.meta.url), "utf8").match(/^(?:\/\/.*\n)+/)?.[0] ?? "";
  const listed = [...head.matchAll(/^\/\/ \* ([\w-]+):/gm)].map((match) => match[1]);
  expect(listed).toEqual(RULES.map(({ name }) => name));
});

describe("the rule finds what is planted", () => {
  test.each(PLANTS)("$rule: $at", ({ rule, files, at }) => {
    const planted = Object.entries(files).map(([path, text]) => sourceFile(path, text));
    const offences = RULES.find(({ name }) => name === rule)?.find(planted);
    expect(offences?.map(({ path, line }) => `${path}:${line}`)).toEqual(at);
  });

  test("each rule has one", () => {
    expect(RULES.map(({ name }) => name).filter((name) => !PLANTS.some(({ rule }) => rule === name))).toEqual(
      [],
    );
  });
});
