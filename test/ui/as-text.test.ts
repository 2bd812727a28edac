import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { curlOf, droverOf } from "../../ui/parts/as-text.ts";

/** The words that a shell makes of a command. */
function wordsOf(command: string): string[] {
  const script = `set -- ${command}; printf '%s\\n' "$@"`;
  const env = { ...process.env, DROVER_TOKEN: "drv_x y" };
  return execFileSync("sh", ["-c", script], { encoding: "utf8", env }).trimEnd().split("\n");
}

const ORIGIN = "http://127.0.0.1:1234";
const auth = ["-H", "Authorization: Bearer drv_x y"];
const json = ["-H", "Content-Type: application/json", "-d"];

describe("what the page does, as a shell reads it (ui.md#d20)", () => {
  test.each([
    [
      { method: "GET", path: "/v1/runs", query: { label: ["a=b c", "d=e"] } },
      ["/v1/runs?label=a%3Db+c&label=d%3De"],
    ],
    [{ method: "DELETE", path: "/v1/runs/r" }, ["-X", "DELETE", "/v1/runs/r"]],
    [
      { method: "POST", path: "/v1/runs/r/abort", body: { reason: "it's $HOME `x`" } },
      ["-X", "POST", "/v1/runs/r/abort", '{"reason":"it\'s $HOME `x`"}'],
    ],
  ])("%j", (call, words) => {
    const body = "body" in call ? words.slice(-1) : [];
    const [path = ""] = words.filter((word) => word.startsWith("/"));
    const before = words.slice(0, words.indexOf(path));
    expect(wordsOf(curlOf(call, ORIGIN))).toEqual([
      ...["curl", "--fail-with-body", "-sS", ...before, `${ORIGIN}${path}`, ...auth],
      ...(body.length === 0 ? [] : [...json, ...body]),
    ]);
  });

  test("words of a command stay words", () => {
    expect(wordsOf(droverOf("abort", "--label", "team=a b;rm"))).toEqual([
      ...["drover", "abort", "--label", "team=a b;rm"],
    ]);
  });
});
