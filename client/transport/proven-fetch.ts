// Which `fetch` does the client use? On loopback, one that proves each connection first.
import type { Agent } from "undici";
import { loopbackAddress } from "../../src/shared/proof.ts";
import { StrangerError } from "../errors.ts";
import { connectProven } from "./proven-connection.ts";

/** Well below the five idle seconds after which a local Drover closes a connection. */
const IDLE_MS = 1_000;

/**
 * The `fetch` for the Drover at this URL. A Drover is identified by its certificate, or on loopback by a
 * proof.
 */
export function fetchFor(url: string, token: string): typeof fetch {
  const address = loopbackAddress(url);
  return address === undefined ? fetch : provenFetch(address, token);
}

/**
 * A `fetch` that always connects to the local Drover at `address` (`loopbackAddress`), and proves each
 * connection before it sends anything. Rejects with a `StrangerError` if something else listens there.
 */
function provenFetch(address: string, token: string): typeof fetch {
  let agent: Agent | undefined;
  const proven = async (input: string, init: object = {}) => {
    // Loaded on demand, since this takes time. Node's own `fetch` takes as long, but is then never loaded.
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
  // Node's `fetch` is the same library; the client uses only what both have.
  return proven as unknown as typeof fetch;
}
