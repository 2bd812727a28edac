import { describe, expect, test } from "vitest";
import { benchOptions, FIGURES, type Figure } from "../../bench/options.ts";
import { profileOptions } from "../../bench/profile/options.ts";

// What `npm run bench` measures follows from its options, and an option that is wrong measures nothing
// (budgets.md#bench).

describe("the options of the bench", () => {
  test("without any: everything, in full", () => {
    const { wants, sizes, amounts } = benchOptions([]);
    const figures = Object.keys(FIGURES) as Figure[]; // its own keys
    expect(figures.filter((name) => !wants(name))).toEqual([]);
    expect([sizes, amounts.rounds]).toEqual([[100, 500, 1_000, 5_000], 3]);
  });

  test("--quick is less of everything, and an amount that is named counts all the same", () => {
    const { sizes, amounts } = benchOptions(["--quick", "--rounds", "7"]);
    expect([sizes, amounts.rounds, amounts.keys]).toEqual([[100, 500], 7, 30]);
  });

  test("--only measures what it names", () => {
    const { wants, sizes } = benchOptions(["--only", "batches,logs", "--sizes", "10,20"]);
    expect([wants("batches"), wants("logs"), wants("hosts"), sizes]).toEqual([true, true, false, [10, 20]]);
  });

  test.each([
    [["--only", "batch"], /--only has no figure "batch": choose from planning, .*batches/],
    [["--only", "toString"], /no figure "toString"/],
    [["--only", ""], /no figure ""/],
    [["--rounds", "0"], /--rounds must be a whole number above zero, and not "0"/],
    [["--sizes", "100,many"], /--sizes must be a whole number above zero, and not "many"/],
    [["--roundz", "1"], /Unknown option '--roundz'/],
    [["batches"], /positional/],
  ])("%j is refused", (args, text) => {
    expect(() => benchOptions(args)).toThrow(text);
  });
});

describe("the options of the profile", () => {
  test.each([
    [[], { agent: false, runs: 1_000, out: "control-plane.cpuprofile", top: 25, everyUs: 500 }],
    [["--agent"], { agent: true, out: "agent.cpuprofile" }],
    [["--runs", "7", "--out", "a"], { runs: 7, out: "a" }],
  ])("%j", (args, options) => {
    expect(profileOptions(args)).toMatchObject(options);
  });

  test.each([
    [["--runs", "some"], /--runs must be a whole number above zero, and not "some"/],
    [["--every-us", "0"], /--every-us must be a whole number above zero, and not "0"/],
    [["--agents"], /Unknown option '--agents'/],
  ])("%j is refused", (args, text) => {
    expect(() => profileOptions(args)).toThrow(text);
  });
});
