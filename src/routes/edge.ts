// The types that every route uses: the Worker's bindings, the variables of a request, and the app.
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { Objects } from "../objects/rpc.ts";
import type { Instant } from "../shared/machine.ts";
import type { WrappingKeys } from "../signing/envelope.ts";
import type { Access } from "./access/access.ts";
import type { Caller } from "./access/caller.ts";
import type { Pools } from "./walls/pool-directory.ts";

/** The Worker's static files, by request path. */
export interface Assets {
  fetch(request: Request): Promise<Response>;
}

/** How issuers of tokens are asked for their keys (oidc.md#keys). */
export interface IssuerNetwork {
  /** Issuers may be at loopback and private addresses: only a `drover up` can allow this. */
  allowsLocal: boolean;
  ask(url: string, init: RequestInit): Promise<Response>;
}

/** The bindings that the Worker passes with each request. */
export interface EdgeBindings {
  /** The token that may do everything (api.md#auth). */
  adminToken: string;
  /** The key that signs enrollment codes. */
  signingKey: string;
  /** The keys that seal Drover's own keys (oidc.md#sealed-keys). */
  wrappingKeys: WrappingKeys;
  /** The URL at which hosts reach this Worker, without a trailing slash; empty if not configured. */
  url: string;
  issuers: IssuerNetwork;
  /** Stubs for this request: a stub must not outlive its request. */
  objects: Objects;
  /** Whether there is a bucket for logs and snapshots. */
  hasBucket: boolean;
  /** What `drover deploy` has told the Worker (deploy.md#bucket). */
  deployed: { bucketName: string | null; domains: string[] };
  /** The files of the reference page (`assets` in wrangler.toml). */
  assets: Assets;
  /** Drover's time (`objects/clock.ts`). */
  now: () => Instant;
  /** Names this request, in its answer and in the audit log (audit.md#via). */
  requestId: string;
}

/** What the app passes along with each request. */
export interface EdgeTypes {
  Bindings: EdgeBindings;
  Variables: {
    /** Who sends the request. Set by `requireToken`. */
    caller: Caller;
    /** The objects as they exist for the caller (access.md#walls). */
    objects: Objects;
    /** The pools as they exist for the caller. */
    pools: Pools;
    access: Access;
    /** The key that signs the answer. It is set when the call is known to come from a host. */
    signer: { key: string; keyid: string } | undefined;
  };
}

export type EdgeApp = OpenAPIHono<EdgeTypes>;
export type EdgeContext = Context<EdgeTypes>;
