import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { Objects } from "../objects/rpc.ts";
import type { Instant } from "../shared/machine.ts";
import type { AnswerSigner } from "./hosts/signature.ts";
import type { PoolDirectory } from "./pool-directory.ts";

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
