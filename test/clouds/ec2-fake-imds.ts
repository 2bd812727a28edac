// The metadata service of a fake EC2 machine, version 2: tokens, and the notice of an interruption.
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { FakeInstance } from "./ec2-fake-cloud.ts";

export interface FakeMetadata {
  url: string;
  /** What it answers to the next requests instead: a status. */
  errors: number[];
  /** Tokens that were given out are no longer good. */
  forget(): void;
  /** The requests so far, as `METHOD path`. */
  requests: string[];
}

const TTL = "x-aws-ec2-metadata-token-ttl-seconds";
const TOKEN = "x-aws-ec2-metadata-token";

/** Serves the metadata of a machine for one test. Version 1, without a token, is refused. */
export async function startMetadata(instance: () => Pick<FakeInstance, "takenAt">): Promise<FakeMetadata> {
  const tokens = new Set<string>();
  const metadata: FakeMetadata = { url: "", errors: [], forget: () => tokens.clear(), requests: [] };
  const server = createServer(({ method = "", url = "", headers }, response) => {
    metadata.requests.push(`${method} ${url}`);
    const say = (status: number, text = "") => response.writeHead(status).end(text);
    const error = metadata.errors.shift();
    if (error !== undefined) return say(error, `<html>${error}</html>`);
    if (method === "PUT" && url === "/latest/api/token") {
      const ttl = Number(headers[TTL]);
      if (!(ttl >= 1 && ttl <= 21_600)) return say(400);
      const token = randomBytes(32).toString("base64");
      tokens.add(token);
      return say(200, token);
    }
    if (!tokens.has(String(headers[TOKEN]))) return say(401);
    const { takenAt } = instance();
    if (url !== "/latest/meta-data/spot/instance-action" || takenAt === undefined) return say(404, "<html/>");
    const time = new Date(takenAt).toISOString().replace(/\.\d+Z$/, "Z");
    return say(200, JSON.stringify({ action: "terminate", time }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  metadata.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return metadata;
}
