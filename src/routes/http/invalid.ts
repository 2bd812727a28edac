import type { z } from "zod";
import { fieldErrors, type Target } from "../../schema/field-errors.ts";
import { DroverError, type FieldError } from "../../shared/errors.ts";

/** Errors named in one answer. A hundred thousand wrong arguments are one mistake, not a hundred thousand. */
export const MAX_FIELD_ERRORS = 100;

type Outcome = { target: Target } & ({ success: true } | { success: false; error: z.ZodError });

/** A hook of zod-openapi that turns what the schema refuses into `invalid_request`. */
export type Refuse = (outcome: Outcome) => undefined;

/**
 * Makes the hook for a route. Fields in `later` belong to the agreed API but not to this version: the refusal
 * says that, where it says of other unknown fields which ones there are.
 */
export function refuse(later: readonly string[] = []): Refuse {
  return (outcome) => {
    if (!outcome.success) throw invalid(fieldErrors(outcome.error.issues, outcome.target, later));
    return undefined;
  };
}

/** The error that names what is wrong, field by field. */
export function invalid(fields: FieldError[]): DroverError {
  const shown = fields.slice(0, MAX_FIELD_ERRORS);
  const [first] = shown;
  const where = first === undefined || first.pointer === "" ? "the body" : first.pointer;
  const listed = shown.length < fields.length ? `the first ${shown.length} of` : "all";
  const more = fields.length > 1 ? `; \`errors\` lists ${listed} ${fields.length} errors` : "";
  return new DroverError("invalid_request", `${where} ${first?.detail ?? "is not valid"}${more}`, {
    fields: shown,
  });
}
