// Can the same call succeed later?
import { ApiError, UnreachableError } from "../../client/errors.ts";

/** Whether the same call can succeed later: nothing answered, or the answer was "not now". */
export function isTemporary(error: unknown): boolean {
  return error instanceof UnreachableError || (error instanceof ApiError && error.temporary);
}
