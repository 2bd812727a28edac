import { describe, expect, test } from "vitest";
import { type Effect, type Input, type Model, next } from "../../cli/top/model.ts";
import { lookOf, pending, running, worker } from "./support/pool-look.ts";

// What keys and news mean to `drover top`.

const look = lookOf({
  running: [running("a"), running("b")],
  pending: [pending("c")],
  workers: [worker("w-1")],
});

/** What comes of these inputs, one after the other. */
function outcome(inputs: Input[], start: Model = { look }): { model: Model; effects: Effect[] } {
  const effects: Effect[] = [];
  let model = start;
  for (const input of inputs) {
    const step = next(model, input);
    model = step.model;
    if (step.effect !== undefined) effects.push(step.effect);
  }
  return { model, effects };
}
const keys = (...names: string[]): Input[] => names.map((key) => ({ type: "key", key }));
const news = (parts: Parameters<typeof lookOf>[0]): Input => ({ type: "look", look: lookOf(parts) });

test.each<[keys: string[], chosen: string | undefined]>([
  [["j"], "a"],
  [["k"], "a"],
  [["down", "j"], "b"],
  [["j", "j", "j", "j", "j", "j"], "w-1"],
  [["j", "j", "up", "k"], "a"],
  [["x", "space", "tab"], undefined],
])("the keys %j choose %s (cli.md#top)", (names, chosen) => {
  expect(outcome(keys(...names)).model.chosen).toBe(chosen);
});

test.each<[key: string, effect: Effect]>([
  ["q", { do: "end", exitCode: 0 }],
  ["p", { do: "show other pool", than: "default" }],
  ["return", { do: "explain", id: "a" }],
])("the key %s asks for %j (cli.md#top)", (key, effect) => {
  expect(outcome(keys(key)).effects).toEqual([effect]);
});

test("a signal ends it with the exit code of that signal (cli.md#top)", () => {
  expect(outcome([{ type: "left", exitCode: 143 }]).effects).toEqual([{ do: "end", exitCode: 143 }]);
});

describe("Enter", () => {
  test("explains what is chosen, and goes back, as Esc does (cli.md#top)", () => {
    const shown = outcome([...keys("j", "j", "return"), { type: "detail", id: "b", lines: ["it runs"] }]);
    expect(shown.effects).toEqual([{ do: "explain", id: "b" }]);
    expect(shown.model.detail).toEqual({ id: "b", lines: ["it runs"] });
    for (const key of ["return", "escape"]) {
      expect(outcome(keys(key), shown.model).model).toMatchObject({ chosen: "b", detail: undefined });
    }
  });

  test("an answer that comes too late is not shown (cli.md#top)", () => {
    const late: Input = { type: "detail", id: "b", lines: ["it runs"] };
    expect(outcome([...keys("j", "j", "return", "return"), late]).model.detail).toBeUndefined();
    expect(outcome([...keys("return"), late]).model.detail).toEqual({ id: "a", lines: [] });
  });

  test("does nothing where nothing is (cli.md#top)", () => {
    expect(outcome(keys("return"), { look: lookOf({}) }).effects).toEqual([]);
  });
});

describe("news", () => {
  test("leave the choice where it is; what is gone gives way to what took its place (cli.md#top)", () => {
    const on = (inputs: Input[]) => outcome([...keys("j", "j"), ...inputs]).model.chosen;
    expect(on([news({ running: [running("new"), running("a"), running("b")] })])).toBe("b");
    expect(on([news({ running: [running("a")], pending: [pending("c")] })])).toBe("c");
    expect(on([news({ running: [running("a")] })])).toBe("a");
    expect(on([news({})])).toBeUndefined();
  });

  test("of another pool choose nothing, and end what is said of the old one (cli.md#top)", () => {
    const said: Input[] = [...keys("j", "return"), { type: "trouble", text: "no answer" }];
    const other = news({ running: [running("a")], pool: { name: "gpu" } });
    expect(outcome([...said, other]).model).toEqual({ look: expect.anything() });
  });

  test("a trouble stays until there are news, also after a key (cli.md#top)", () => {
    const trouble: Input = { type: "trouble", text: "no answer" };
    expect(outcome([trouble, ...keys("j")]).model.trouble).toBe("no answer");
    expect(outcome([trouble, news({})]).model.trouble).toBeUndefined();
  });

  test("a notice stays until the next key or the next news (cli.md#top)", () => {
    const notice: Input = { type: "notice", text: "There is no other pool." };
    expect(outcome([notice, { type: "resize" }]).model.notice).toBe("There is no other pool.");
    expect(outcome([notice, ...keys("j")]).model.notice).toBeUndefined();
    expect(outcome([notice, news({})]).model.notice).toBeUndefined();
  });
});
