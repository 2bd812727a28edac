// What has a reader filled in? The texts of a form as the API wants them; what is empty is left out.

/** The text of a field without space around it; undefined: it is empty. */
export function textOf(given: FormData, name: string): string | undefined {
  const text = String(given.get(name) ?? "").trim();
  return text === "" ? undefined : text;
}

/** How a number is written in a field: `NumberField` refuses anything else before it is sent. */
export const NUMBER = "\\d+(?:\\.\\d+)?";

/**
 * The number in a field; undefined: it is empty. A text that is no number stays as it is: JSON would have it
 * as null, which can mean that there is no limit. The API refuses the text, and so does a command with it.
 */
export function numberOf(given: FormData, name: string): number | undefined {
  const text = textOf(given, name);
  if (text !== undefined && new RegExp(`^${NUMBER}$`).test(text)) return Number(text);
  // The type is that of a correct request, and this one is to be refused.
  return text as number | undefined;
}

/** Words between spaces, commas or ends of lines; undefined: there is none. */
export function wordsOf(given: FormData, name: string): string[] | undefined {
  const words = textOf(given, name)?.split(/[\s,]+/);
  return words?.filter((word) => word !== "");
}

/** Lines `name=value`, of which the value may have spaces and `=`; undefined: there is none. */
export function pairsOf(given: FormData, name: string): Record<string, string> | undefined {
  const lines = textOf(given, name)?.split("\n") ?? [];
  const pairs = lines
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((line): [string, string] => {
      const [, key = line, value = ""] = /^([^=]*)=([\s\S]*)$/.exec(line) ?? [];
      return [key.trim(), value.trim()];
    });
  return pairs.length === 0 ? undefined : Object.fromEntries(pairs);
}

/** The values of the boxes of this name that are ticked. */
export function ticksOf(given: FormData, name: string): string[] {
  return given.getAll(name).map(String);
}

/** Lines `name=value`, as `pairsOf` reads them. */
export function asLines(pairs: Record<string, string>): string {
  return Object.entries(pairs)
    .map(([name, value]) => `${name}=${value}`)
    .join("\n");
}

/** The same flag for each value: `--pool a --pool b`. */
export function flagsOf(flag: string, values: readonly (string | number | undefined)[]): string[] {
  return values.flatMap((value) => (value === undefined ? [] : [flag, String(value)]));
}
