// In which fields of a spec are the references of a job filled in (jobs.md#filling-in)?
import type { Reader } from "./fill.ts";

/** The place of a value in a spec. */
export type Path = readonly (string | number)[];

/** A field of a run, and of each task that has it, too. `*` stands for each entry. */
const FIELDS: { path: string[]; reader: Reader; inTasks: boolean }[] = [
  { path: ["argv", "*"], reader: "word", inTasks: true },
  { path: ["env", "*"], reader: "text", inTasks: true },
  { path: ["meta", "*"], reader: "text", inTasks: true },
  { path: ["container", "image"], reader: "plain", inTasks: true },
  { path: ["labels", "*"], reader: "plain", inTasks: false },
  { path: ["concurrency", "key"], reader: "plain", inTasks: false },
];
/** What a user reads about them. */
export const FIELDS_TEXT =
  "words of `argv`, values of `env`, `meta` and `labels`, `container.image`, and `concurrency.key`";

/** Who reads the text at this place after it was filled in; undefined: nothing is filled in there. */
export function readerAt(path: Path): Reader | undefined {
  const inTask = path[0] === "tasks";
  const own = inTask ? path.slice(2) : path;
  return FIELDS.find(
    ({ path: wanted, inTasks }) =>
      (inTasks || !inTask) &&
      wanted.length === own.length &&
      wanted.every((part, i) => part === "*" || part === own[i]),
  )?.reader;
}

/** Each text of a value with its place, and each name of a field as well (`isName`). */
export function* textsOf(
  value: unknown,
  path: Path = [],
): Generator<{ path: Path; text: string; isName: boolean }> {
  if (typeof value === "string") yield { path, text: value, isName: false };
  if (typeof value !== "object" || value === null) return;
  const entries = Array.isArray(value) ? value.entries() : Object.entries(value);
  for (const [key, inner] of entries) {
    if (typeof key === "string") yield { path: [...path, key], text: key, isName: true };
    yield* textsOf(inner, [...path, key]);
  }
}

/** The same value with each text replaced. Nothing else is changed. */
export function mapTexts(
  value: unknown,
  replace: (text: string, path: Path) => string,
  path: Path = [],
): unknown {
  if (typeof value === "string") return replace(value, path);
  if (Array.isArray(value)) return value.map((inner, i) => mapTexts(inner, replace, [...path, i]));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => [
    key,
    mapTexts(inner, replace, [...path, key]),
  ]);
  return Object.fromEntries(entries);
}

/** A place as a JSON pointer (RFC 6901). */
export function pointerTo(path: Path): string {
  return path.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
