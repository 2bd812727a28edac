import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { Objects } from "../objects/rpc.ts";
import type { Instant } from "../shared/machine.ts";

/** Files beside the Worker, by the path of a request. */
export interface Assets {
  fetch(request: Request): Promise<Response>;
}

/** What the Worker gives to the app with each request. */
export interface EdgeBindings {
  /** The token that may do everything (api.md#auth). */
  adminToken: string;
  /** What enrollment codes are made with. */
  signingKey: string;
  /** Where hosts reach this Worker, without a slash at the end; empty if nobody has said. */
  url: string;
  /** Stubs of this request: a stub must not outlive the request that made it. */
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
  /** Asks the Registry again next time: after a pool was put through this isolate. */
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
    /** Who asks: the name of the token. Set by `requireToken`. */
    actor: string;
    pools: PoolDirectory;
    /** Set once a call is known to be a host's. */
    signer: AnswerSigner | undefined;
  };
}

export type EdgeApp = OpenAPIHono<EdgeTypes>;
export type EdgeContext = Context<EdgeTypes>;
