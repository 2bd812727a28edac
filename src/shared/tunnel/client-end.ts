// How does the edge ask a worker's object for a client's end of a tunnel (tunnels.md#relay)?
import { TUNNEL_KINDS, type TunnelKind } from "./frames.ts";

/** A client's end of a tunnel. */
export interface ClientEnd {
  tunnel: string;
  kind: TunnelKind;
  attempt: string;
}

/** No path of the API begins so: a request of a host cannot be taken for one of the edge. */
const PATH = /^\/tunnel\/([\w-]+)\/(\w+)\/(.+)$/;

/** The request for a client's end of a tunnel. */
export function tunnelRequest({ tunnel, kind, attempt }: ClientEnd): Request {
  const url = `https://worker/tunnel/${tunnel}/${kind}/${attempt}`;
  return new Request(url, { headers: { upgrade: "websocket" } });
}

/** The client's end that a request asks for; undefined: it asks for something else. */
export function clientEndIn({ url }: Pick<Request, "url">): ClientEnd | undefined {
  const [, tunnel, kind, attempt] = PATH.exec(new URL(url).pathname) ?? [];
  const known = TUNNEL_KINDS.find((one) => one === kind);
  if (tunnel === undefined || known === undefined || attempt === undefined) return undefined;
  return { tunnel, kind: known, attempt };
}
