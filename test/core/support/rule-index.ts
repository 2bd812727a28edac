import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { repositoryFiles } from "../../tidy/source.ts";

// Tests and rows of tables cite rules in their names, or where that gets too long in a comment above:
// "… (arvados.md §1.9 step 2)", or several: "arvados.md §1.9 step 2, step 3, §1.12 point 1".

/** The rules of one section of a description of an ancestor: tests cite each of them, but for some. */
export interface RuleSection {
  section: string;
  rules: string[];
  /** Why a rule has no test here: labels, separated by commas → the reason, and where it was decided. */
  not: Record<string, string>;
}

/** `row 1` to `row n`: rows of a table and items of a list are counted from above, or bear their number. */
export const count = (label: string, n: number) => Array.from({ length: n }, (_, i) => `${label} ${i + 1}`);

/** The rules of `document` that a test file cites: `§3.3 row 7`. */
function citedIn({ text }: { text: string }, document: string): string[] {
  const citation = new RegExp(`${document.replace(".", "\\.")} (§[^"\`;:()\\]\\n]*)`, "g");
  return [...text.matchAll(citation)].flatMap(([, list = ""]) => {
    let section = "";
    return list.split(/,| and /).map((part) => {
      const [, named = section, label = ""] = /^\s*(§[\d.]+\d)?\s*(.*?)\s*$/.exec(part) ?? [];
      section = named;
      return `${section} ${label}`;
    });
  });
}

/** That each rule is cited by a test, or has a reason why it is not; and that what is cited is a rule. */
export function describeIndex(document: string, index: RuleSection[]): void {
  const files = repositoryFiles(join(import.meta.dirname, "..", "..", ".."));
  const tests = files.filter(({ path }) => /^test\/.*(\.test|\/support\/bad-\w+)\.ts$/.test(path));
  const others = tests.filter(({ path }) => !path.includes("-rules.test"));
  const cited = new Set(others.flatMap((file) => citedIn(file, document)));
  const known = new Set(index.flatMap(({ section, rules }) => rules.map((rule) => `${section} ${rule}`)));

  describe.each(index)(`${document} $section`, ({ section, rules, not }) => {
    const excused = Object.keys(not).flatMap((labels) => labels.split(", "));

    test("each rule is cited by a test, or has a reason why it is not", () => {
      const open = rules.filter((rule) => !excused.includes(rule) && !cited.has(`${section} ${rule}`));
      expect(open).toEqual([]);
    });

    test("a reason is for a rule, and for one without a test", () => {
      expect(excused.filter((rule) => !rules.includes(rule) || cited.has(`${section} ${rule}`))).toEqual([]);
      for (const reason of Object.values(not)) expect(reason).not.toBe("");
    });
  });

  test("what is cited with a number is a rule", () => {
    const sections = new Set(index.map(({ section }) => section));
    const numbered = [...cited].filter((rule) => /^§\S+ (row|case|step|point|formula|T)\s?\d/.test(rule));
    const here = numbered.filter((rule) => sections.has(rule.split(" ")[0] ?? ""));
    expect(here.filter((rule) => !known.has(rule))).toEqual([]);
  });
}
