import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { headingsIn, idsIn } from "../tidy/citations.ts";
import { repositoryFiles } from "../tidy/source.ts";

// The pages below name each of their rules by an anchor of its own. A test cites each rule
// ("tasks.md#stage-2"), or a reason says why none does. That what is cited is there, test/tidy.test.ts
// looks after.

/** Pages whose rules have tests, and why a rule has none: its anchor → the reason. */
const PAGES: Record<string, Record<string, string>> = {
  "restart.md": { "row-6": "cannot arise: the type of a decision's input always has a cause" },
  "tasks.md": {},
  "workers.md": {
    "report-2": "an object has one writer: no event comes between the acceptance and the live row",
    "report-7": "nothing in the control plane concludes anything from it: the host's tests have it",
    "broken-6": "no times are compared: that reports are numbered is tested for all of them",
    "unkillable-3": "it is a rule of the host, whose tests kill whole trees",
  },
  "pool.md": {
    "create-step-1": "nothing is read that could be missing",
    "create-pace": "there is no pause that could be looked for",
    "rate-5": "no code looks at hold-offs when a worker proposes to stop (src/core/worker/life/deadlines.ts)",
    "sweep-step-4": "nothing waits for a listing",
  },
};

const files = repositoryFiles(join(import.meta.dirname, "..", ".."));
const tests = files.filter(({ path }) => /^test\/.*(\.test|\/support\/[\w-]+)\.ts$/.test(path));

/** The anchors of a page that a text cites. A page of the same name elsewhere has a path before it. */
const citedIn = (text: string, page: string) =>
  [...text.matchAll(new RegExp(`(?<![\\w./-])${page.replace(".", "\\.")}#([\\w-]*)`, "g"))].map(
    ([, anchor = ""]) => anchor,
  );

describe.each(Object.entries(PAGES))("%s", (page, untested) => {
  const text = files.find(({ path }) => path === `docs/design/${page}`)?.text ?? "";
  const rules = idsIn(text);
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
});

test("anchors are those that a reader's browser finds", () => {
  const page = '# Restart, and more\n\n| <a id="row-7"></a>7 | x |\n\n## `compat: "nomad"`\n';
  expect(idsIn(page)).toEqual(["row-7"]);
  expect(headingsIn(page)).toEqual(["restart-and-more", "compat-nomad"]);
});
