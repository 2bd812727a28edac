// Which `fetch` does the client use? For a loopback address, a `fetch` that makes the server of each
// connection prove that it is the right Drover.
import type { Agent } from "undici";
import { loopbackAddress } from "../../src/shared/proof.ts";
import { StrangerError } from "../errors.ts";
import { connectProven } from "./proven-connection.ts";

/** How long an idle connection is kept: much less than the 5 s after which a local Drover closes it. */
const IDLE_MS = 1_000;

/** The `fetch` for the Drover at this URL. A certificate identifies a Drover; on loopback, a proof does. */
export function fetchFor(url: string, token: string): typeof fetch {
  const address = loopbackAddress(url);
  return address === undefined ? fetch : provenFetch(address, token);
}

/**
 * A `fetch` that always connects to the local Drover at `address` (`loopbackAddress`). On each connection,
 * the server must prove that it knows the token before anything else is sent. Rejects with a `StrangerError`
 * if something else listens there.
 */
function provenFetch(address: string, token: string): typeof fetch {
  let agent: Agent | undefined;
  const proven = async (input: string, init: object = {}) => {
    // Loaded on demand, since loading takes time. Node's own `fetch` would take as long, but is not loaded
    // here.
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
