import type { Agent } from "undici";
import { loopbackAddress } from "../../src/shared/proof.ts";
import { StrangerError } from "../errors.ts";
import { connectProven } from "./proven-connection.ts";

/** A local Drover closes a connection that is idle for five seconds; one that it closes is not to be used. */
const IDLE_MS = 1_000;

/** The `fetch` for the Drover at this URL: a certificate says who it is, or on loopback a proof. */
export function fetchFor(url: string, token: string): typeof fetch {
  const address = loopbackAddress(url);
  return address === undefined ? fetch : provenFetch(address, token);
}

/**
 * A `fetch` for one local Drover, at `address` (`loopbackAddress`), whatever URL is asked: each connection is
 * proven before anything else is sent on it. Rejects with a `StrangerError` if something else listens there.
 */
function provenFetch(address: string, token: string): typeof fetch {
  let agent: Agent | undefined;
  const proven = async (input: string, init: object = {}) => {
    // Only here: it takes as long to load as Node's own, which is then not loaded.
    const { default: undici } = await import("undici");
    agent ??= new undici.Agent({
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      connect: (_, done) => {
        connectProven(address, token).then(
          (socket) => done(null, socket),
          (error) => done(error, null),
        );
      },
    });
    try {
      return await undici.fetch(input, { ...init, dispatcher: agent });
    } catch (error) {
      throw error instanceof Error && error.cause instanceof StrangerError ? error.cause : error;
    }
  };
  // Of Node's `fetch`, which is the same library, the client uses what this one has.
  return proven as unknown as typeof fetch;
}
