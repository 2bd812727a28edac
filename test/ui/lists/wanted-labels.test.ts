import { expect, test } from "vitest";
import { wantedLabels } from "../../../ui/pages/runs/labels/wanted-labels.ts";

// ui.md#d19: what ends runs is about those that it names.
test.each<[string, string[], Record<string, string> | undefined]>([
  ["one", ["team=core"], { team: "core" }],
  ["two, written both ways", ["team=core", "set:nightly"], { team: "core", set: "nightly" }],
  ["a value with both signs", ["url=http://a=b"], { url: "http://a=b" }],
  ["none", [], undefined],
  ["a word that is no label", ["team"], undefined],
  ["a label and such a word", ["team=core", "nightly"], undefined],
  ["a label without a value", ["team="], undefined],
  ["a value without a name", ["=core"], undefined],
  ["one name twice", ["team=a", "team=b"], undefined],
])("labels of an action on all runs: %s", (_what, labels, wanted) => {
  expect(wantedLabels(labels)).toEqual(wanted);
});
