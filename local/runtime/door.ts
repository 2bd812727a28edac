// Which requests reach the Worker from outside?
import { basename, dirname, join } from "node:path";

const MISDIRECTED = 421;

/** The entrypoint that the public port serves. */
export const DOOR = "Door";

/** The path under which the main module of a local Drover is loaded: beside the Worker that it imports. */
export function doorPath(script: string): string {
  return join(dirname(script), "drover-door.js");
}

/** The Host headers of requests from this machine. */
function hostsOf(port: number): string[] {
  return ["127.0.0.1", "localhost", "[::1]"].map((name) => `${name}:${port}`);
}

/**
 * The main module of a local Drover: the Worker, and an entrypoint that only answers HTTP.
 *
 * The public port leads neither to Miniflare's own entry, which serves the bucket to anybody, nor to the
 * Worker itself, which would also accept method calls (`capnpConnectHost`) such as `scheduled`. A web page
 * could reach this port if the host name of its site resolved to 127.0.0.1. Its requests carry that name in
 * `Host`, so they are refused.
 */
export function doorSource(script: string, port: number): string {
  const worker = JSON.stringify(`./${basename(script)}`);
  const hosts = hostsOf(port);
  const refusal = `This Drover serves only its own machine: Host must be ${hosts.join(" or ")}.\n`;
  return `import { WorkerEntrypoint } from "cloudflare:workers";
import worker from ${worker};
export * from ${worker};
export default worker;
export class ${DOOR} extends WorkerEntrypoint {
  fetch(request) {
    const host = request.headers.get("host")?.toLowerCase();
    if (${JSON.stringify(hosts)}.includes(host)) {
      // On Cloudflare this header holds the client's address. Here only this machine can connect.
      const headers = new Headers(request.headers);
      headers.set("CF-Connecting-IP", "127.0.0.1");
      return worker.fetch(new Request(request, { headers }), this.env, this.ctx);
    }
    return new Response(${JSON.stringify(refusal)}, { status: ${MISDIRECTED} });
  }
}
`;
}
