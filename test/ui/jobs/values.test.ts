import { describe, expect, test } from "vitest";
import type { JobParam } from "../../../src/generated/api.ts";
import { flagsFor, requestOf } from "../../../ui/pages/job/values.ts";

const params: Record<string, JobParam> = {
  branch: { type: "string", default: "main" },
  note: { type: "string" },
  lines: { type: "string", default: "a\r\nb" },
  count: { type: "integer", default: 1 },
  ratio: { type: "number" },
  dry: { type: "boolean" },
  size: { type: "integer", enum: [1, 2] },
};

/** A form as it is opened, with these changes. */
function form(changes: Record<string, string> = {}): FormData {
  const given = new FormData();
  const atFirst = { branch: "main", note: "", lines: "a\nb", count: "1", ratio: "", dry: "", size: "" };
  for (const [name, value] of Object.entries({ ...atFirst, ...changes })) given.set(name, value);
  return given;
}

describe("a trigger is made from the declared parameters (jobs.md#parameters)", () => {
  test("what was not changed is left out: the defaults are those of the job", () => {
    expect(requestOf({ params }, form())).toEqual({});
  });

  test.each([
    ["branch", " two  words ", " two  words "],
    ["branch", "", ""],
    ["note", "$(true)", "$(true)"],
    ["lines", "a\nc", "a\nc"],
    ["count", "-3", -3],
    ["count", " 7 ", 7],
    ["count", "2.5", "2.5"],
    ["ratio", "-1.5e3", -1_500],
    ["ratio", "COUNT", "COUNT"],
    ["dry", "true", true],
    ["dry", "false", false],
    ["size", "2", 2],
  ])("%s: %j is sent as %j", (name, text, value) => {
    expect(requestOf({ params }, form({ [name]: text }))).toEqual({ params: { [name]: value } });
  });

  test("a key of meta that is required is sent with an empty value, an optional one is left out", () => {
    const meta = { required: ["customer"], optional: ["note", "a.b"] };
    const given = form({ "meta.customer": "", "meta.note": "", "meta.a.b": " x" });
    expect(requestOf({ params, meta }, given)).toEqual({ meta: { customer: "", "a.b": " x" } });
  });

  test("a payload is the bytes of a text in base64 (jobs.md#payload)", () => {
    const { payload } = requestOf({}, form({ "run.payload": "grün\n" }));
    expect(Buffer.from(String(payload), "base64").toString()).toBe("grün\n");
  });

  test("the command says the same (ui.md#d20)", () => {
    const given = form({
      branch: "a b",
      dry: "false",
      "run.key": " one ",
      "run.tick": "2026-11-22T01:30:00Z",
      "run.priority": "70",
    });
    const request = requestOf({ params }, given);
    expect(request).toMatchObject({ key: "one", tick: "2026-11-22T01:30:00Z", priority: 70 });
    expect(flagsFor(request)).toEqual([
      ...["--param", "branch=a b", "--param", "dry=false", "--key", "one"],
      ...["--tick", "2026-11-22T01:30:00Z", "--priority", "70"],
    ]);
  });
});
