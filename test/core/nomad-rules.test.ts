import { expect, test } from "vitest";
import { NOMAD_RULES } from "./support/nomad-rules.ts";
import { citedIn, describeIndex } from "./support/rule-index.ts";

describeIndex("nomad.md", NOMAD_RULES);

test.each([
  ['test("x (nomad.md §3.3 row 7)")', ["§3.3 row 7"]],
  ['test("x (nomad.md §1.8 step 3, step 4, §4.6 row 1)")', ["§1.8 step 3", "§1.8 step 4", "§4.6 row 1"]],
  ['["nomad.md §1.4 Main Tasks Dead: when"]', ["§1.4 Main Tasks Dead"]],
  ['test("nomad.md §3.3 row 11")', ["§3.3 row 11"]],
  ["  // nomad.md §7.1 row 1, row 2\n", ["§7.1 row 1", "§7.1 row 2"]],
  ['test("x (nomad.md §4.6)")', ["§4.6 "]],
])("citations in %s", (text, rules) => {
  expect(citedIn({ text }, "nomad.md")).toEqual(rules);
});
