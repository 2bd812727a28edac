import fc from "fast-check";
import type { CallerName } from "./callers.ts";
import type { Operation, Site } from "./operations.ts";
import { branchesOf, type Schema, type Schemas, typeOf } from "./schema.ts";
import { fittingValue } from "./values.ts";

/** A change at one place of a request. A body gets JSON text, some of which no value would become. */
export type Change =
  | { what: "set"; text: string }
  | { what: "drop" }
  | { what: "extra" }
  | { what: "twice"; texts: [string, string] }
  | { what: "raw"; text: string }
  | { what: "request"; how: RequestFault; pick: number };

/** What can be wrong with a request as a whole. */
export const REQUEST_FAULTS = [
  ...["method", "content-type", "broken-json", "no-body", "large-body", "unknown-query", "long-path"],
  ...["no-token", "bad-token", "odd-headers", "bad-signature", "encoding"],
] as const;
export type RequestFault = (typeof REQUEST_FAULTS)[number];

/** How one place is changed. `valid`: to another value that fits. */
export const KINDS = [
  ...["valid", "wrong-type", "null", "missing", "border", "empty", "huge", "unicode", "control"],
  ...["prototype", "unknown-field", "deep", "duplicate", "encoding"],
] as const;

type Maker = (site: Site, schemas: Schemas) => fc.Arbitrary<Change> | undefined;

const PROTOTYPES = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf"];
const UNICODE = ["é", "🐂", "\u202e", "a\u0301", "\ufeff", "\uffff", "ß", "İ", "漢字", "\u200b", "\u{e0001}"];
const CONTROLS = ["\0", "\u0001", "\u001b[2J", "\u007f", "\r\nx: y", "\t", "\u2028", "\u0085"];
const MANY_KEYS = `{${Array.from({ length: 5_000 }, (_, n) => `"k${n}":"v"`).join()}}`;
const DEPTHS = [10, 500, 5_000, 50_000];

const set = (values: fc.Arbitrary<unknown>): fc.Arbitrary<Change> =>
  values.map((value) => ({ what: "set", text: JSON.stringify(value) ?? "null" }));
const raw = (texts: fc.Arbitrary<string>): fc.Arbitrary<Change> =>
  texts.map((text) => ({ what: "raw", text }));
const nameOf = ({ name }: Site) => name.split("/").at(-1) ?? "";
const formsOf = (site: Site, schemas: Schemas) => branchesOf(site.schema, schemas);
const typesOf = (site: Site, schemas: Schemas) =>
  formsOf(site, schemas).flatMap(({ type }) => (type === undefined ? [] : [type].flat()));
const inBody = (site: Site) => site.in === "body";

const ANYTHING: unknown[] = ["x", 7, 1.5, true, [], ["x"], {}, { a: 1 }];

/** The changes of each kind; undefined where it does not apply. */
const MAKERS: Record<(typeof KINDS)[number], Maker> = {
  valid: (site, schemas) => set(fittingValue(site.schema, schemas, nameOf(site))),
  "wrong-type": (site, schemas) => {
    const types = typesOf(site, schemas);
    const fits = (value: unknown) =>
      types.includes(typeOf(value)) || (types.includes("integer") && Number.isInteger(value));
    const others = ANYTHING.filter((value) => !fits(value));
    return inBody(site) && others.length > 0 ? set(fc.constantFrom(...others)) : undefined;
  },
  null: (site) => (inBody(site) ? raw(fc.constant("null")) : undefined),
  missing: (site) => {
    const isField = inBody(site) && site.name !== "" && !site.name.endsWith("*");
    return isField || site.in === "query" || site.in === "header" ? fc.constant({ what: "drop" }) : undefined;
  },
  border: (site, schemas) => {
    const values = formsOf(site, schemas).flatMap((form) => bordersOf(form));
    return values.length === 0 ? undefined : set(fc.constantFrom(...values));
  },
  empty: (site) => set(fc.constantFrom<unknown>(...(inBody(site) ? ["", [], {}] : [""]))),
  huge: (site) => {
    if (!inBody(site)) return set(fc.constantFrom("x".repeat(2_000), "9".repeat(400), "a-".repeat(2_000)));
    const text = fc.constantFrom(10_000, 300_000).map((length) => JSON.stringify("x".repeat(length)));
    const list = fc
      .constantFrom("1", '"a"', "[]", "null")
      .map((one) => `[${Array(20_000).fill(one).join()}]`);
    const numbers = fc.constantFrom("1e308", "-1e308", "1e999", "9007199254740993", "1e-400", "-0");
    return raw(fc.oneof(text, list, fc.constant(MANY_KEYS), numbers));
  },
  unicode: (site) => odd(site, inBody(site) ? [...UNICODE, "\ud800", "\udc00x"] : UNICODE),
  control: (site) => odd(site, CONTROLS),
  prototype: (site) => {
    if (!inBody(site)) return set(fc.constantFrom(...PROTOTYPES));
    const inner = fc.constantFrom('{"a":1}', "null", '"x"', "[]", '{"argv":["true"]}');
    const object = fc.tuple(fc.constantFrom(...PROTOTYPES), inner).map(([name, one]) => `{"${name}":${one}}`);
    return raw(
      fc.oneof(
        object,
        fc.constantFrom(...PROTOTYPES).map((name) => `"${name}"`),
      ),
    );
  },
  "unknown-field": (site, schemas) => {
    const open = formsOf(site, schemas).some(({ properties }) => properties !== undefined);
    return inBody(site) && open ? fc.constant({ what: "extra" }) : undefined;
  },
  deep: (site) => {
    if (!inBody(site)) return undefined;
    const brackets: [string, string][] = [
      ["[", "]"],
      ['{"a":', "}"],
      ['{"__proto__":', "}"],
    ];
    const nested = ([open, close]: [string, string], n: number) =>
      `${open.repeat(n)}${open === "[" ? "" : "1"}${close.repeat(n)}`;
    const some = fc.tuple(fc.constantFrom(...brackets), fc.constantFrom(...DEPTHS));
    return raw(some.map(([pair, depth]) => nested(pair, depth)));
  },
  duplicate: (site, schemas) => {
    if (site.in === "path") return undefined;
    if (inBody(site) && (site.name === "" || site.name.endsWith("*"))) return undefined;
    const value = fittingValue(site.schema, schemas, nameOf(site));
    const text = value.map((one) => JSON.stringify(one) ?? "null");
    return fc.tuple(text, text).map((texts): Change => ({ what: "twice", texts }));
  },
  encoding: (site) => {
    if (site.in !== "path" && site.in !== "query") return undefined;
    const mistakes = [
      "%",
      "%zz",
      "%C3",
      "%2F",
      "%00",
      "%2e%2e",
      "..",
      "%252F",
      "a%20b",
      "a+b",
      "%u0041",
      "%F0%9F",
    ];
    return raw(fc.constantFrom(...mistakes, "%0d%0a", ";a=b", "a,b", "[]"));
  },
};

/** Odd text as a value, and in a body also as a name. */
function odd(site: Site, texts: string[]): fc.Arbitrary<Change> {
  const text = spiced(texts);
  return set(
    inBody(site)
      ? fc.oneof(
          text,
          text.map((name) => ({ [name]: "1" })),
          text.map((one) => [one]),
        )
      : text,
  );
}

/** Odd text, alone or inside ordinary text. */
function spiced(odd: string[]): fc.Arbitrary<string> {
  return fc
    .tuple(fc.constantFrom("", "a", "b-1"), fc.constantFrom(...odd), fc.constantFrom("", "z"))
    .map((parts) => parts.join(""));
}

/** The values at the borders of a form, on both sides, and near misses of names. */
function bordersOf(form: Schema): unknown[] {
  const values: unknown[] = [];
  const { minimum, maximum, minItems, maxItems, maxLength, minLength = 0 } = form;
  for (const limit of [minimum, maximum])
    if (limit !== undefined) values.push(limit - 1, limit, limit + 1, limit + 0.5);
  if (form.type === "integer" || form.type === "number")
    values.push(-1, 2 ** 53, 2 ** 53 - 1, -(2 ** 31) - 1);
  if (maxLength !== undefined) values.push("x".repeat(maxLength), "x".repeat(maxLength + 1));
  if (minLength > 0) values.push("x".repeat(minLength - 1));
  if (form.pattern !== undefined)
    values.push("x".repeat(63), "x".repeat(64), "X", " x", "x ", "-x", "x\n", "1", "x.");
  for (const one of form.enum ?? [])
    if (typeof one === "string") values.push(`${one}x`, one.slice(1), swapCase(one));
  if (maxItems !== undefined || minItems !== undefined) {
    for (const count of [(minItems ?? 1) - 1, (maxItems ?? 10) + 1])
      values.push(Array(Math.max(0, count)).fill("a"));
  }
  return values;
}

function swapCase(text: string): string {
  return text === text.toLowerCase() ? text.toUpperCase() : text.toLowerCase();
}

/** One kind of change at one place of one operation, by one caller. */
export interface Cell {
  operation: Operation;
  caller: CallerName;
  site: Site;
  kind: string;
  change: fc.Arbitrary<Change>;
}

/** All the cells of an operation for one caller. */
export function cellsOf(operation: Operation, schemas: Schemas, caller: CallerName): Cell[] {
  return operation.sites.flatMap((site): Cell[] => {
    if (site.in === "request") {
      return faultsFor(operation).map((how) => {
        const change = fc.nat(1_000).map((pick): Change => ({ what: "request", how, pick }));
        return { operation, caller, site, kind: how, change };
      });
    }
    return KINDS.flatMap((kind) => {
      const change = MAKERS[kind](site, schemas);
      return change === undefined ? [] : [{ operation, caller, site, kind, change }];
    });
  });
}

function faultsFor({ bodyTypes, body, secured, signed }: Operation): RequestFault[] {
  const always: RequestFault[] = ["method", "unknown-query", "long-path", "odd-headers", "encoding"];
  const ofBody: RequestFault[] = bodyTypes.length > 0 ? ["content-type", "no-body", "large-body"] : [];
  return [
    ...always,
    ...ofBody,
    ...(body === undefined ? [] : (["broken-json"] as const)),
    ...(secured ? (["no-token", "bad-token"] as const) : []),
    ...(signed ? (["bad-signature"] as const) : []),
  ];
}

/** The name of a cell, for tables and for a repetition. */
export function nameOfCell({ operation, site, kind, caller }: Cell): string {
  const by = operation.secured ? ` | ${caller}` : "";
  return `${operation.name} | ${site.in}${site.name === "" ? "" : ` ${site.name}`} | ${kind}${by}`;
}
