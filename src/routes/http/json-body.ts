// Would a JSON body be stored exactly as it was sent?
import { createMiddleware } from "hono/factory";
import { lostNames } from "../../schema/lost-names.ts";
import { DroverError } from "../../shared/errors.ts";
import type { EdgeTypes } from "../edge.ts";
import { invalid } from "./invalid.ts";

/**
 * Refuses a JSON body that would not be stored as it was sent: a body with invalid UTF-8, or with names that
 * its schema would lose (`schema/lost-names.ts`).
 */
export const refuseLossyJson = createMiddleware<EdgeTypes>(async (c, next) => {
  if (/\bjson\b/i.test(c.req.header("content-type") ?? "")) {
    const faults = lostNames(utf8Text(await c.req.arrayBuffer()));
    if (faults.length > 0) throw invalid(faults);
  }
  await next();
});

/** Decodes UTF-8 and keeps a byte order mark. Throws `malformed_json` if the bytes are not valid UTF-8. */
export function utf8Text(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new DroverError("malformed_json", "the body is not valid UTF-8, which JSON requires");
  }
}
