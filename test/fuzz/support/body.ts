import fc from "fast-check";
import type { Json } from "../../edge/support/edge.ts";
import type { Change } from "./mutations.ts";
import type { Operation, Site } from "./operations.ts";
import { branchesOf, type Schemas } from "./schema.ts";
import { fittingValue } from "./values.ts";

const MARK = "the place that is changed";

/** The text of a body that is valid except at one place. */
export function changedBody(
  operation: Operation,
  schemas: Schemas,
  bases: Json[],
  site: Site,
  change: Change,
): string {
  const steps = site.name.split("/").slice(1);
  const depths = bases.map((base) => depthOf(base, steps));
  const tree = { root: structuredClone(bases[depths.indexOf(Math.max(...depths))]) };
  const { parent, key } = reach(tree, steps, (name, step) => sampleAt(operation, schemas, name, step));
  if (change.what === "drop") {
    if (Array.isArray(parent)) parent.splice(Number(key), 1);
    else delete parent[key];
    return JSON.stringify(tree.root) ?? "";
  }
  if (change.what === "extra") {
    const whole = parent[key] ?? sampleAt(operation, schemas, site.name);
    parent[key] = { ...(typeof whole === "object" ? whole : {}), unknownField: 1 };
    return JSON.stringify(tree.root);
  }
  parent[key] = MARK;
  const text = JSON.stringify(tree.root);
  if (change.what === "twice") {
    const name = JSON.stringify(key);
    const [first, second] = change.texts;
    return text.replace(`${name}:"${MARK}"`, () => `${name}:${first},${name}:${second}`);
  }
  return text.replace(`"${MARK}"`, () => ("text" in change ? change.text : "null"));
}

/** How much of the way a body has. */
function depthOf(base: Json, steps: string[]): number {
  let depth = 0;
  let value = base;
  for (const step of steps) {
    value = value?.[keyFor(value, step)];
    if (value === undefined) break;
    depth += 1;
  }
  return depth;
}

function keyFor(value: Json, step: string): string {
  if (step !== "*") return step;
  return Array.isArray(value) ? "0" : (Object.keys(value ?? {})[0] ?? "k1");
}

/** Goes to the place, and creates what is missing on the way. */
function reach(
  tree: Json,
  steps: string[],
  sample: (name: string, step: string) => Json,
): { parent: Json; key: string } {
  let [parent, key, name] = [tree, "root", ""];
  for (const step of steps) {
    // Of several forms, the way needs one that has the step: a number there leads nowhere.
    const value = isObject(parent[key]) ? parent[key] : sample(name, step);
    parent[key] = isObject(value) ? value : step === "*" ? [] : {};
    parent = parent[key];
    key = keyFor(parent, step);
    name = `${name}/${step}`;
  }
  return { parent, key };
}

function isObject(value: Json): boolean {
  return typeof value === "object" && value !== null;
}

/** A value that fits at a place; of several forms, one that has this step. */
function sampleAt({ sites }: Operation, schemas: Schemas, name: string, step?: string): Json {
  const site = sites.find((one) => one.in === "body" && one.name === name);
  if (site === undefined) return undefined;
  const forms = branchesOf(site.schema, schemas);
  const leads = forms.find(({ properties = {} }) => step !== undefined && Object.hasOwn(properties, step));
  const form = leads ?? site.schema;
  const [value] = fc.sample(fittingValue(form, schemas, name.split("/").at(-1) ?? ""), {
    numRuns: 1,
    seed: 1,
  });
  return structuredClone(value);
}
