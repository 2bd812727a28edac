// How does the client connect to a port of a run's machine (tunnels.md#forward)?
import { faultOfAsk, MAX_CHANNELS } from "../../src/shared/tunnel/frames.ts";
import { type Connection, resetConnection, Sockets } from "../../src/shared/tunnel/sockets.ts";
import type { Target } from "../transport/http.ts";
import { errorOfFault, Tunnel, type TunnelOptions } from "./tunnel.ts";

export interface ForwardOptions extends TunnelOptions {
  /** The port on the loopback address of the machine. */
  port: number;
}

/** A way to a port of a run's machine. */
export interface Forward {
  /** Rejects when the way has ended: with an `ApiError`, such as once the run has ended. */
  ended: Promise<never>;
  /**
   * Passes the bytes of a connection on to a new connection to the port, in both directions. False: there are
   * too many, and the connection was reset.
   */
  connect(connection: Connection): boolean;
  close(): void;
}

/** Opens a way to a port. Throws a `TypeError` for a number that is no port. */
export function startForward(target: Target, run: string, { port, ...options }: ForwardOptions): Forward {
  const ask = { kind: "forward" as const, port };
  const fault = faultOfAsk(ask);
  if (fault !== undefined) throw new TypeError(fault);
  let channels = 0;
  const sockets = new Sockets({
    changed: () => tunnel.link.pump(),
    used: (channel, bytes) => tunnel.link.used(channel, bytes),
    broken: (channel) => tunnel.link.reset(channel),
  });
  const link = {
    data: (channel: number, bytes: Uint8Array) => sockets.write(channel, bytes),
    end: (channel: number) => sockets.end(channel),
    reset: (channel: number) => sockets.reset(channel),
  };
  const tunnel = new Tunnel(target, run, ask, link, options);
  void tunnel.start();
  return {
    ended: tunnel.ended.then((end) => {
      sockets.close();
      throw end.t === "fault" ? errorOfFault(end) : new Error("the way to the port has ended");
    }),
    connect(connection) {
      if (sockets.size >= MAX_CHANNELS) {
        resetConnection(connection);
        return false;
      }
      channels += 1;
      tunnel.link.begin(channels, sockets.attach(channels, connection));
      return true;
    },
    close() {
      sockets.close();
      tunnel.close();
    },
  };
}
