import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { repositoryFiles } from "../tidy/source.ts";

// Code and tests cite rules of pages in docs/design by their anchors: "tasks.md#stage-2".

/** Pages whose rules have tests, and why a rule has none: its anchor → the reason. */
const PAGES: Record<string, Record<string, string>> = {
  "restart.md": { "row-6": "cannot arise: the type of a decision's input has always a cause" },
  "tasks.md": {},
};

/** The anchors of rules, in their order: `<a id="…">`. */
const rulesIn = (page: string) => [...page.matchAll(/<a id="([^"]+)"><\/a>/g)].map(([, id = ""]) => id);

/** The anchors of headings: lower case, without punctuation, with dashes for spaces. */
const headingsIn = (page: string) =>
  [...page.matchAll(/^#+ (.*)$/gm)].map(([, text = ""]) => {
    const kept = text.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "");
    return kept.replaceAll(" ", "-");
  });

/** The anchors of a page that a text cites. A page of the same name elsewhere has a path before it. */
const citedIn = (text: string, page: string) =>
  [...text.matchAll(new RegExp(`(?<![\\w./-])${page.replace(".", "\\.")}#([\\w-]*)`, "g"))].map(
    ([, anchor = ""]) => anchor,
  );

const files = repositoryFiles(join(import.meta.dirname, "..", ".."));
const code = files.filter(({ path }) => path.endsWith(".ts") && !path.endsWith("/cited-rules.test.ts"));
const tests = code.filter(({ path }) => /^test\/.*(\.test|\/support\/bad-\w+)\.ts$/.test(path));

describe.each(Object.entries(PAGES))("%s", (page, untested) => {
  const text = files.find(({ path }) => path === `docs/design/${page}`)?.text ?? "";
  const rules = rulesIn(text);
  const tested = new Set(tests.flatMap((file) => citedIn(file.text, page)));

  test("has rules, each with an anchor of its own", () => {
    const anchors = [...rules, ...headingsIn(text)];
    expect(rules).not.toEqual([]);
    expect(anchors.filter((one, i) => anchors.indexOf(one) !== i)).toEqual([]);
  });

  test("each rule is cited by a test, or has a reason why it is not", () => {
    expect(rules.filter((rule) => !tested.has(rule) && !Object.hasOwn(untested, rule))).toEqual([]);
  });

  test("a reason is for a rule, and for one without a test", () => {
    const idle = Object.keys(untested).filter((rule) => !rules.includes(rule) || tested.has(rule));
    expect(idle).toEqual([]);
    for (const reason of Object.values(untested)) expect(reason).not.toBe("");
  });

  test("what code and tests cite is there", () => {
    const known = new Set([...rules, ...headingsIn(text)]);
    const broken = code.flatMap(({ path, text: source }) =>
      citedIn(source, page)
        .filter((anchor) => !known.has(anchor))
        .map((anchor) => `${path}: ${page}#${anchor}`),
    );
    expect(broken).toEqual([]);
  });
});

test("anchors are those that a reader's browser finds", () => {
  const page = '# Restart, and more\n\n| <a id="row-7"></a>7 | x |\n\n## `compat: "nomad"`\n';
  expect(rulesIn(page)).toEqual(["row-7"]);
  expect(headingsIn(page)).toEqual(["restart-and-more", "compat-nomad"]);
});

test.each([
  ['test("x (restart.md#row-7)")', ["row-7"]],
  ["// restart.md#row-7, restart.md#jitter; tasks.md#kill", ["row-7", "jitter"]],
  ["(docs/restart.md#row-7), [more](../restart.md#more)", []],
  ["restart.md alone", []],
])("citations in %s", (text, anchors) => {
  expect(citedIn(text, "restart.md")).toEqual(anchors);
});
