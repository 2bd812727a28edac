// Does a request carry a valid token (api.md#auth)?
import { createMiddleware } from "hono/factory";
import { DroverError } from "../../shared/errors.ts";
import { contentDigest, isSame } from "../../signing/mac.ts";
import type { EdgeTypes } from "../edge.ts";

const BEARER = /^Bearer +([\w.~+/=-]+)$/i;

/** The name of the admin token, recorded for example in an abort's `by`. */
const ADMIN = "admin";

/**
 * Admits requests with the admin token (api.md#auth). Otherwise 401 `unauthorized`, with the same text for
 * every wrong token.
 */
export const requireToken = createMiddleware<EdgeTypes>(async (c, next) => {
  const header = c.req.header("authorization");
  if (header === undefined) {
    throw new DroverError(
      "unauthorized",
      'this request needs a token; send it in the header "Authorization: Bearer <token>"',
    );
  }
  const token = BEARER.exec(header)?.[1];
  if (token === undefined) {
    throw new DroverError("unauthorized", 'the header "Authorization" must read "Bearer <token>"');
  }
  if (!isSameSecret(token, c.env.adminToken)) {
    throw new DroverError("unauthorized", "this token is not valid here; it may belong to another Drover");
  }
  c.set("actor", ADMIN);
  await next();
});

/**
 * Compares digests in constant time. An empty secret matches nothing, so a Worker without a token refuses
 * every request.
 */
function isSameSecret(given: string, secret = ""): boolean {
  return secret !== "" && isSame(contentDigest(given), contentDigest(secret));
}
