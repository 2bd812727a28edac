// Does a request carry a valid token (api.md#auth)?
import { createMiddleware } from "hono/factory";
import { DroverError } from "../../shared/errors.ts";
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
  if (!(await sameSecret(token, c.env.adminToken))) {
    throw new DroverError("unauthorized", "this token is not valid here; it may belong to another Drover");
  }
  c.set("actor", ADMIN);
  await next();
});

/**
 * Compares digests in constant time. An empty secret matches nothing, so that a Worker without its secret is
 * closed.
 */
async function sameSecret(given: string, secret: string | undefined): Promise<boolean> {
  if (secret === undefined || secret === "") return false;
  const [left, right] = await Promise.all([digest(given), digest(secret)]);
  let difference = 0;
  for (const [index, byte] of left.entries()) difference |= byte ^ (right[index] ?? 0);
  return difference === 0;
}

async function digest(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}
