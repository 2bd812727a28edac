import { createMiddleware } from "hono/factory";
import { DroverError } from "../../shared/errors.ts";
import type { EdgeTypes } from "../edge.ts";

const BEARER = /^Bearer +([\w.~+/=-]+)$/i;

/** The name under which the first token acts: what an abort records as `by`. */
const ADMIN = "admin";

/**
 * Lets a request pass that carries the admin token (api.md#auth). 401 `unauthorized` otherwise, with the same
 * text for every wrong token.
 */
export const requireToken = createMiddleware<EdgeTypes>(async (c, next) => {
  const header = c.req.header("authorization");
  if (header === undefined) {
    throw new DroverError(
      "unauthorized",
      'this needs a token; send it in the header "Authorization: Bearer <token>"',
    );
  }
  const token = BEARER.exec(header)?.[1];
  if (token === undefined) {
    throw new DroverError("unauthorized", 'the header "Authorization" must read "Bearer <token>"');
  }
  if (!(await sameSecret(token, c.env.adminToken))) {
    throw new DroverError("unauthorized", "this token is not known here; it may belong to another Drover");
  }
  c.set("actor", ADMIN);
  await next();
});

/**
 * Compares in a time that depends on neither text: digests have one length, and all of their bytes are looked
 * at. An empty secret matches nothing, so that a Worker without its secret is closed and not open.
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
