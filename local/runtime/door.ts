import { basename, dirname, join } from "node:path";

const MISDIRECTED = 421;

/** The entrypoint that the public port serves. */
export const DOOR = "Door";

/** Where the main module of a local Drover seems to lie: beside the Worker, which it imports. */
export function doorPath(script: string): string {
  return join(dirname(script), "drover-door.js");
}

/** By these names people and programs of this machine reach the public port. */
function hostsOf(port: number): string[] {
  return ["127.0.0.1", "localhost", "[::1]"].map((name) => `${name}:${port}`);
}

/**
 * The main module of a local Drover: the Worker, and an entrypoint that answers HTTP and does nothing else.
 *
 * Miniflare's own entry serves the bucket to anybody. So the public port leads past it, and not to the Worker
 * itself either: such a port also takes calls of methods (`capnpConnectHost`), and `scheduled` is one. A page
 * that has its own name resolve to 127.0.0.1 shows itself by Host, and is refused.
 */
export function doorSource(script: string, port: number): string {
  const worker = JSON.stringify(`./${basename(script)}`);
  const hosts = hostsOf(port);
  const refusal = `This Drover is for programs of its own machine: Host must be ${hosts.join(" or ")}.\n`;
  return `import { WorkerEntrypoint } from "cloudflare:workers";
import worker from ${worker};
export * from ${worker};
export default worker;
export class ${DOOR} extends WorkerEntrypoint {
  fetch(request) {
    const host = request.headers.get("host")?.toLowerCase();
    if (${JSON.stringify(hosts)}.includes(host)) return worker.fetch(request, this.env, this.ctx);
    return new Response(${JSON.stringify(refusal)}, { status: ${MISDIRECTED} });
  }
}
`;
}
