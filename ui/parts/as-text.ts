// How is what the page does said to a shell (ui.md#d20)?
import { type Call, pathOf } from "../../client/transport/call.ts";
import { quoteArgv } from "../../src/shared/shell-words.ts";

/** The call as a `curl` command, for a shell in which `DROVER_TOKEN` is set. */
export function curlOf(call: Pick<Call, "method" | "path" | "query" | "body">, origin: string): string {
  const words = ["curl", "--fail-with-body", "-sS"];
  if (call.method !== "GET") words.push("-X", call.method);
  words.push(`${origin}${pathOf(call)}`);
  const json =
    call.body === undefined ? [] : ["-H", "Content-Type: application/json", "-d", JSON.stringify(call.body)];
  // The shell puts the token in, so this word keeps its double quotes.
  return `${quoteArgv(words)} -H "Authorization: Bearer $DROVER_TOKEN" ${quoteArgv(json)}`.trimEnd();
}

/** A `drover` command. */
export function droverOf(...words: string[]): string {
  return quoteArgv(["drover", ...words]);
}
