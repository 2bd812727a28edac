// How zod's issues become field errors, each with a pointer to its place.
import type { z } from "zod";
import type { FieldError } from "../shared/errors.ts";

type Issue = z.core.$ZodIssue;
/** The part of a request that a schema has checked. */
export type Target = "json" | "form" | "query" | "param" | "header" | "cookie";

/** Lists a schema's issues in the order of the fields, each with its pointer (`schema/problem.ts`). */
export function fieldErrors(
  issues: readonly Issue[],
  target: Target,
  later: readonly string[] = [],
): FieldError[] {
  return issues.flatMap((issue) => {
    if (issue.code === "invalid_union") {
      const branch = closestBranch(issue.errors);
      if (branch === undefined) return [{ pointer: pointerOf(issue.path, target), detail: issue.message }];
      const inside = branch.map((one) => ({ ...one, path: [...issue.path, ...one.path] }));
      return fieldErrors(inside, target, later);
    }
    if (issue.code === "unrecognized_keys") {
      // The known fields are listed once, with the first unknown field.
      const unknown = issue.keys.find((key) => !later.includes(key));
      return issue.keys.map((key) => ({
        pointer: pointerOf([...issue.path, key], target),
        detail: later.includes(key)
          ? "is not supported yet"
          : key === unknown
            ? issue.message
            : "is not a known field",
      }));
    }
    const reason = issue.code === "invalid_key" ? issue.issues[0]?.message : undefined;
    const detail = reason === undefined ? issue.message : `has a name that is not allowed: it ${reason}`;
    return [{ pointer: pointerOf(issue.path, target), detail }];
  });
}

/**
 * Picks the form of a union that the author probably meant. This is the form with the fewest missing, unknown
 * or mistyped fields at the top level. If several forms have equally few, it is the last of these forms.
 * Unknown fields count double, since they belong to another form, while a missing field may be an oversight.
 * Undefined if every form is wrong as a whole, for example because the value is not an object, and if each of
 * several forms only lacks the one field that it is known by.
 */
function closestBranch(branches: readonly (readonly Issue[])[]): readonly Issue[] | undefined {
  let best: { issues: readonly Issue[]; misfits: number } | undefined;
  const forms = branches.filter(
    (issues) => !issues.every(({ path, code }) => path.length === 0 && code !== "unrecognized_keys"),
  );
  if (forms.length > 1 && forms.every(lacksOneField)) return undefined;
  for (const issues of forms) {
    const misfits = misfitsOf(issues);
    if (best === undefined || misfits <= best.misfits) best = { issues, misfits };
  }
  return best?.issues;
}

function lacksOneField([issue, ...others]: readonly Issue[]): boolean {
  const isMissing = issue?.code === "invalid_type" && issue.path.length === 1 && issue.input === undefined;
  return isMissing && others.length === 0;
}

function misfitsOf(issues: readonly Issue[]): number {
  let misfits = 0;
  for (const issue of issues) {
    if (issue.code === "unrecognized_keys" && issue.path.length === 0) misfits += 2 * issue.keys.length;
    else if (issue.path.length === 1) misfits += 1;
  }
  return misfits;
}

function pointerOf(path: readonly PropertyKey[], target: Target): string {
  const name = String(path[0] ?? "");
  switch (target) {
    case "query":
      return `?${name}`;
    case "param":
      return `{${name}}`;
    case "header":
    case "cookie":
      return `${name}:`;
    case "json":
    case "form":
      return path.map((part) => escapedPart(String(part))).join("");
  }
}

/** One part of a JSON pointer (RFC 6901). */
export function escapedPart(name: string): string {
  return `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
