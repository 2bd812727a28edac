// What does a route see of the Worker: bindings, variables, the types of the app?
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { Objects } from "../objects/rpc.ts";
import type { Instant } from "../shared/machine.ts";

/** The Worker's static files, by request path. */
export interface Assets {
  fetch(request: Request): Promise<Response>;
}

/** The bindings that the Worker passes with each request. */
export interface EdgeBindings {
  /** The token that may do everything (api.md#auth). */
  adminToken: string;
  /** The key that signs enrollment codes. */
  signingKey: string;
  /** The URL at which hosts reach this Worker, without a trailing slash; empty if not configured. */
  url: string;
  /** Stubs for this request: a stub must not outlive its request. */
  objects: Objects;
  /** The files of the reference page (`assets` in wrangler.toml). */
  assets: Assets;
  /** Drover's time (`objects/clock.ts`). */
  now: () => Instant;
}

/**
 * The names of all pools, remembered for a few seconds, so that a query does not cost a call to the one
 * Registry.
 */
export interface PoolDirectory {
  /** The names, at most a few seconds old. Fails as the Registry does. */
  names(env: Pick<EdgeBindings, "objects" | "now">): Promise<string[]>;
  /** Makes the next call ask the Registry again. To be used after a pool was put through this isolate. */
  forget(): void;
}

/** What the answer to a call is signed with, once that call is known to be a host's. */
export interface AnswerSigner {
  key: string;
  keyid: string;
}

/** What the app passes along with each request. */
export interface EdgeTypes {
  Bindings: EdgeBindings;
  Variables: {
    /** The caller: the name of its token. Set by `requireToken`. */
    actor: string;
    pools: PoolDirectory;
    /** Set once a call is verified to come from a host. */
    signer: AnswerSigner | undefined;
  };
}

export type EdgeApp = OpenAPIHono<EdgeTypes>;
export type EdgeContext = Context<EdgeTypes>;
