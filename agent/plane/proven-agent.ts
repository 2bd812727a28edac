// Is the program at a loopback address really this host's control plane? Each connection must prove it.
import { type ClientRequestArgs, Agent as PlainAgent, request as plainRequest } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { endpointOf, loopbackAddress } from "../../src/shared/proof.ts";
import { EXCHANGE_TIMEOUT_MS } from "../core/bounds.ts";
import type { Answer } from "./http.ts";

/** The longest answer to a hello. */
const MAX_HELLO_CHARS = 4_096;

/** A call whose signed answer proves that the control plane has answered. */
export interface Hello {
  path: string;
  headers: Record<string, string>;
  /** Throws unless the answer is from the control plane at this address. */
  verify(answer: Answer, address: string): void;
}

/**
 * Connections to a control plane on this machine, without a certificate. Another program may have taken the
 * port, so each connection is proven by a hello first; later calls on the same connection reach the same
 * program.
 */
export class ProvenAgent extends PlainAgent {
  readonly #hello: () => Hello;

  constructor(hello: () => Hello) {
    super({ keepAlive: true });
    this.#hello = hello;
  }

  override createConnection(
    { host, port }: ClientRequestArgs,
    done: (error: Error | null, socket: Duplex) => void = () => undefined,
  ): undefined {
    const name = host?.includes(":") ? `[${host}]` : host;
    const socket = new Socket();
    connectProven(socket, `http://${name}:${port ?? 80}`, this.#hello()).then(
      () => done(null, socket),
      (error) => done(error, socket),
    );
  }
}

async function connectProven(socket: Socket, url: string, hello: Hello): Promise<void> {
  try {
    const address = loopbackAddress(url);
    if (address === undefined) throw new Error(`${url} is not on this machine`);
    socket.setNoDelay(true).connect(endpointOf(address));
    hello.verify(await answerTo(hello, address, socket), address);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Sends the hello on a new connection. Resolves when the connection is free for the next call. */
function answerTo({ path, headers }: Hello, address: string, socket: Socket): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const late = () => socket.destroy(new Error(`${address} has not answered in time`));
    const timer = setTimeout(late, EXCHANGE_TIMEOUT_MS);
    const sent = { ...headers, host: address, connection: "keep-alive" };
    const call = plainRequest({ path, headers: sent, createConnection: () => socket });
    const answer: Answer = { status: 0, headers: {}, body: "" };
    call.on("response", (response) => {
      Object.assign(answer, { status: response.statusCode, headers: response.headers });
      response.setEncoding("utf8").on("data", (part: string) => {
        answer.body += part;
        if (answer.body.length > MAX_HELLO_CHARS) socket.destroy(new Error("its answer is too long"));
      });
    });
    call.on("error", reject);
    const closed = () => {
      clearTimeout(timer);
      reject(new Error(`${address} has closed the connection`));
    };
    // If the other end closes the connection, the socket never becomes free.
    socket.once("close", closed).once("free", () => {
      clearTimeout(timer);
      socket.off("close", closed);
      resolve(answer);
    });
    call.end();
  });
}
