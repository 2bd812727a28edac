// How the errors of a schema become one `invalid_request` that names each field.
import type { z } from "zod";
import { fieldErrors, type Target } from "../../schema/field-errors.ts";
import { DroverError, type FieldError } from "../../shared/errors.ts";

/** The most errors listed in one answer: thousands of errors usually repeat one mistake. */
export const MAX_FIELD_ERRORS = 100;

type Outcome = { target: Target } & ({ success: true } | { success: false; error: z.ZodError });

/**
 * Makes the hook of zod-openapi that turns a schema's errors into `invalid_request`. For a field in `later`,
 * the error says that the field is not supported yet. For any other unknown field, the error lists the known
 * fields.
 */
export function refuse(later: readonly string[] = []) {
  return (outcome: Outcome): undefined => {
    if (!outcome.success) throw invalid(fieldErrors(outcome.error.issues, outcome.target, later));
    return undefined;
  };
}

/** The error that names each wrong field. */
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
