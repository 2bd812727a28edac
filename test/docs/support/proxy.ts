import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { answerKey, signAnswer } from "../../../src/signing/answer.ts";
import { keyOf } from "../../../src/signing/mac.ts";
import { signatureIn } from "../../../src/signing/request.ts";
import { wholeBody } from "../../support/whole-body.ts";

/**
 * What happens to a request on its way: it is lost before it arrives; its answer is cut half-way, or comes in
 * small pieces; or it never arrives, and this is the answer.
 */
export type Trouble = "lost" | "cut" | "dripping" | { status: number; body: string };

/** A proxy to a real Drover that a test can disturb, and that records what passes. */
export interface Way {
  url: string;
  /** The method and path of each request, in order. */
  requests: string[];
  /** Called for each request. By default there is no trouble. */
  trouble: (request: string) => Trouble | undefined;
  /** The secret of the calling host, which signs the answers made up here; undefined: nobody signs them. */
  secret: () => string | undefined;
  close(): Promise<void>;
}

/** Opens a proxy to what `target` names at that moment. */
export async function openProxy(target: () => string): Promise<Way> {
  const server = createServer(async (request, response) => {
    const sent = await wholeBody(request);
    if (sent === undefined) return;
    const { method = "", url = "" } = request;
    const name = `${method} ${url}`;
    proxy.requests.push(name);
    const trouble = proxy.trouble(name);
    if (typeof trouble === "object") {
      const signed = signedAs(proxy.secret(), request.headers, trouble);
      response.writeHead(trouble.status, { "content-type": "application/json", ...signed });
      return void response.end(trouble.body);
    }
    const answer = trouble === "lost" ? undefined : await passOn(name, request.headers, sent);
    if (answer === undefined) return void response.destroy();
    const { status, headers, body } = answer;
    response.writeHead(status, { ...headers, "content-length": body.length });
    if (trouble === undefined) return void response.end(body);
    response.write(body.subarray(0, body.length / 2));
    if (trouble === "cut") return void setImmediate(() => response.destroy());
    for (const byte of body.subarray(body.length / 2)) {
      await sleep(300);
      response.write(Buffer.of(byte));
    }
    response.end();
  });

  /** Undefined: nobody answers there. */
  async function passOn(name: string, headers: object, body: Buffer) {
    const [method = "", path = ""] = name.split(" ");
    const passed = Object.entries(headers).filter(([key]) => !/^(host|connection|content-length)$/.test(key));
    const content = body.length === 0 ? {} : { body };
    const answer = await fetch(`${target()}${path}`, { method, headers: passed, ...content }).catch(
      () => null,
    );
    if (answer === null) return undefined;
    const kept = [...answer.headers].filter(([key]) => /^(content-type|content-digest|signature)/.test(key));
    const bytes = Buffer.from(await answer.arrayBuffer());
    return { status: answer.status, headers: Object.fromEntries(kept), body: bytes };
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const proxy: Way = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    trouble: () => undefined,
    secret: () => undefined,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}

/** Signs an answer as the control plane would, to a call that was signed with this secret. */
function signedAs(
  secret: string | undefined,
  headers: IncomingHttpHeaders,
  answer: { status: number; body: string },
): object {
  const signature = signatureIn(String(headers.signature ?? ""));
  const keyid = /keyid="([^"]+)"/.exec(String(headers["signature-input"]))?.[1];
  if (secret === undefined || signature === undefined || keyid === undefined) return {};
  const created = Math.floor(Date.now() / 1_000);
  return signAnswer(answerKey(keyOf(secret), signature), answer, { created, keyid });
}
