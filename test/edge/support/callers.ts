import { expect } from "vitest";
import type { Scope } from "../../../src/shared/access/scopes.ts";
import { TOKEN_RANDOM_BYTES, tokenText } from "../../../src/shared/access/token-text.ts";
import { contentDigest } from "../../../src/signing/mac.ts";
import type { Edge, Json } from "./edge.ts";

/** Makes a token at an edge, without the API. */
export function makeToken(
  { tokens }: Pick<Edge, "tokens">,
  scopes: readonly Scope[],
  limits: Json = {},
  more: object = {},
): string {
  const { id, text } = tokenText(crypto.getRandomValues(new Uint8Array(TOKEN_RANDOM_BYTES)));
  tokens.create({
    id,
    name: `t-${id.toLowerCase()}`,
    project: "default",
    payer: id,
    scopes: [...scopes],
    limits,
    digest: contentDigest(text),
    createdAt: Date.now(),
    createdBy: "admin",
    parent: null,
    expiresAt: null,
    ...more,
  });
  return text;
}

/** Sends requests with this token; `json` expects a status, and returns the JSON of the answer. */
export function as(edge: Edge, token: string, headers: Record<string, string> = {}) {
  const auth = { authorization: `Bearer ${token}`, ...headers };
  const send = (method: string, path: string, body?: unknown, more: Record<string, string> = {}) => {
    const all = { ...auth, ...more };
    if (body === undefined) return edge.send(method, path, all);
    return edge.send(method, path, { ...all, "content-type": "application/json" }, JSON.stringify(body));
  };
  return {
    send,
    async json(status: number, method: string, path: string, body?: unknown): Promise<Json> {
      const answer = await send(method, path, body);
      const text = await answer.text();
      expect({ status: answer.status, text }).toMatchObject({ status });
      return JSON.parse(text);
    },
  };
}
