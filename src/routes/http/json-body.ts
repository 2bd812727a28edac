import { createMiddleware } from "hono/factory";
import { lostNames } from "../../schema/lost-names.ts";
import { DroverError } from "../../shared/errors.ts";
import type { EdgeTypes } from "../edge.ts";
import { invalid } from "./invalid.ts";

/**
 * Refuses a JSON body that would not be stored as it was sent: one that is no UTF-8, and names that its
 * schema would lose (`schema/lost-names.ts`).
 */
export const refuseLossyJson = createMiddleware<EdgeTypes>(async (c, next) => {
  if (/\bjson\b/i.test(c.req.header("content-type") ?? "")) {
    const faults = lostNames(utf8Text(await c.req.arrayBuffer()));
    if (faults.length > 0) throw invalid(faults);
  }
  await next();
});

/** The text that bytes stand for, with a byte order mark if there is one. Throws `malformed_json` if none. */
export function utf8Text(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new DroverError("malformed_json", "the body is not UTF-8; encode it as UTF-8, as JSON demands");
  }
}
