import { Agent, request } from "node:http";

/** A request as it goes over the wire, with a path that nobody corrects. */
export interface Wire {
  method: string;
  path: string;
  headers: [string, string][];
  body?: Buffer;
}

/** The answer. `cut`: it is a stream, of which only the beginning was read. */
export interface Reply {
  status: number;
  type: string;
  headers: NodeJS.Dict<string | string[]>;
  text: string;
  cut: boolean;
}

/** An answer that has not come by then never comes: no request asks for a long wait. */
const ANSWER_WITHIN_MS = 45_000;
/** A followed log has no end while its run lives: it is read for this long. */
const READ_STREAM_MS = 200;
const MAX_SOCKETS = 12;

/** Sends requests to one server, as they are. */
export class Sender {
  readonly #url: URL;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: MAX_SOCKETS });

  constructor(url: string) {
    this.#url = new URL(url);
  }

  /** A connection that the server has closed just as it is used again proves nothing: then once more. */
  send(wire: Wire, isAgain = false): Promise<Reply> {
    const { hostname, port } = this.#url;
    const headers = grouped([...wire.headers, ...lengthOf(wire)]);
    return new Promise((resolve, reject) => {
      const call = request(
        { hostname, port, agent: this.#agent, method: wire.method, path: wire.path, headers },
        (answer) => {
          const parts: Buffer[] = [];
          const type = String(answer.headers["content-type"] ?? "");
          const finish = (cut: boolean) => {
            clearTimeout(reading);
            clearTimeout(patience);
            const { statusCode: status = 0, headers } = answer;
            resolve({ status, type, headers, text: Buffer.concat(parts).toString(), cut });
            if (cut) answer.destroy();
          };
          const endless = type === "text/event-stream" || wire.path.includes("follow=");
          const reading = endless ? setTimeout(() => finish(true), READ_STREAM_MS) : undefined;
          answer.on("data", (part) => parts.push(part));
          answer.on("end", () => finish(false));
          answer.on("error", () => finish(true));
        },
      );
      const patience = setTimeout(() => call.destroy(new Error("no answer in time")), ANSWER_WITHIN_MS);
      call.on("error", (error) => {
        clearTimeout(patience);
        const isClosed = call.reusedSocket && "code" in error && error.code === "ECONNRESET";
        if (isClosed && !isAgain) resolve(this.send(wire, true));
        else reject(error);
      });
      call.end(wire.body);
    });
  }

  end(): void {
    this.#agent.destroy();
  }
}

function lengthOf({ method, body }: Wire): [string, string][] {
  if (body !== undefined) return [["content-length", String(body.length)]];
  return method === "GET" || method === "HEAD" ? [] : [["content-length", "0"]];
}

/** Groups headers by name: a header that occurs twice is sent twice. */
function grouped(headers: [string, string][]): Record<string, string[]> {
  const all: Record<string, string[]> = {};
  for (const [name, value] of headers) {
    all[name] ??= [];
    all[name].push(value);
  }
  return all;
}
