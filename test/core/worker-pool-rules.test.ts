import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { repositoryFiles } from "../tidy/source.ts";

// Code and tests cite rules of docs/design by page and anchor. The explicit anchors of these two pages are
// rules: each has a test that cites it, or a reason why it has none.
const RULE_PAGES = ["workers.md", "pool.md"];
const PAGES = [...RULE_PAGES, "platform.md"];

/** Why a rule has no test. */
const REASONS: Record<string, string> = {
  "workers.md#report-2": "an object has one writer: no event comes between the acceptance and the live row",
  "workers.md#report-7": "nothing in the control plane concludes anything from it: the host's tests have it",
  "workers.md#broken-6": "no times are compared: that reports are numbered is tested for all of them",
  "workers.md#unkillable-3": "it is a rule of the host, whose tests kill whole trees",
  "pool.md#create-step-1": "nothing is read that could be missing",
  "pool.md#create-pace": "there is no pause that could be looked for",
  "pool.md#rate-5": "no code looks at hold-offs when a worker proposes to stop (src/core/worker/life.ts)",
  "pool.md#sweep-step-4": "nothing waits for a listing",
};

const THIS = "test/core/worker-pool-rules.test.ts";
const files = repositoryFiles(join(import.meta.dirname, "..", ".."));
const textOf = (page: string) => files.find(({ path }) => path === `docs/design/${page}`)?.text ?? "";

/** `restart.md#row-7`, of all pages that are looked at. */
const CITATION = new RegExp(`\\b(?:${PAGES.join("|").replaceAll(".", "\\.")})#[a-z0-9-]+`, "g");
const citedIn = (text: string) => text.match(CITATION) ?? [];
const cited = files
  .filter(({ path }) => path !== THIS)
  .map(({ path, text }) => ({ path, by: citedIn(text) }));
const citedByTests = new Set(cited.flatMap(({ path, by }) => (path.startsWith("test/") ? by : [])));

function idsOf(page: string): string[] {
  return [...textOf(page).matchAll(/<a id="([^"]+)">/g)].map(([, id]) => `${page}#${id}`);
}

/** As GitHub makes them: lower case, without punctuation, dashes for blanks. */
function headingsOf(page: string): string[] {
  const headings = [...textOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => heading);
  return headings.map((heading) => {
    const words = heading.toLowerCase().replaceAll(/[^a-z0-9 _-]/g, "");
    return `${page}#${words.replaceAll(" ", "-")}`;
  });
}

const rules = RULE_PAGES.flatMap(idsOf);

describe("the rules of workers and pools", () => {
  test("each is cited by a test, or has a reason why it is not", () => {
    expect(rules.filter((rule) => !citedByTests.has(rule) && REASONS[rule] === undefined)).toEqual([]);
  });

  test("a reason is for a rule, and for one that no test cites", () => {
    const idle = Object.keys(REASONS).filter((rule) => !rules.includes(rule) || citedByTests.has(rule));
    expect(idle).toEqual([]);
  });
});

test("no anchor is there twice, and each that is cited is there", () => {
  const anchors = PAGES.flatMap((page) => [...idsOf(page), ...headingsOf(page)]);
  expect(anchors.filter((anchor, i) => anchors.indexOf(anchor) !== i)).toEqual([]);
  const dead = cited.flatMap(({ path, by }) =>
    by.filter((one) => !anchors.includes(one)).map((one) => `${path}: ${one}`),
  );
  expect(dead).toEqual([]);
});
