import type { webcrypto } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  exportJWK,
  generateKeyPair,
  type JSONWebKeySet,
  type JWTHeaderParameters,
  type JWTPayload,
  SignJWT,
} from "jose";

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown;

/** A real issuer: an HTTP server on loopback with keys of its own, which can misbehave. */
export class Issuer {
  readonly #server: Server;
  readonly url: string;
  /** The keys that it publishes. */
  readonly keys: JSONWebKeySet["keys"] = [];
  readonly #private = new Map<string, webcrypto.CryptoKey>();
  /** What is asked of it, as paths. */
  readonly asked: string[] = [];
  /** Answers instead of its own, by path. */
  readonly instead = new Map<string, Answer>();

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on a port
  }

  static async start(): Promise<Issuer> {
    let answer: Answer = () => undefined;
    const server = createServer((request, response) => answer(request, response));
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const issuer = new Issuer(server);
    answer = (request, response) => issuer.#answer(request, response);
    await issuer.rotate("first");
    return issuer;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? "";
    this.asked.push(path);
    const instead = this.instead.get(path);
    if (instead !== undefined) {
      instead(request, response);
      return;
    }
    const json = (body: object) =>
      response.setHeader("content-type", "application/json").end(JSON.stringify(body));
    if (path === DISCOVERY) json({ issuer: this.url, jwks_uri: `${this.url}${JWKS}` });
    else if (path === JWKS) json({ keys: this.keys });
    else response.writeHead(404).end();
  }

  /** Signs with another key from now on, and publishes only that one. */
  async rotate(kid: string, alg = "RS256"): Promise<void> {
    this.keys.length = 0;
    await this.add(kid, alg);
  }

  /** Publishes one key more. */
  async add(kid: string, alg = "RS256"): Promise<void> {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
    this.#private.set(kid, privateKey);
    this.keys.push({ ...(await exportJWK(publicKey)), kid, alg, use: "sig" });
  }

  /** A token with these claims, by default of a job and valid now. `undefined` drops a claim. */
  async token(
    audience: string,
    claims: JWTPayload = {},
    { key = this.keys[0]?.kid ?? "", ...header }: Partial<JWTHeaderParameters> & { key?: string } = {},
  ): Promise<string> {
    const now = Math.floor(Date.now() / 1_000);
    const payload = {
      iss: this.url,
      aud: audience,
      iat: now,
      nbf: now,
      exp: now + 300,
      jti: crypto.randomUUID(),
      ...CLAIMS,
      ...claims,
    };
    const signer = this.#private.get(key);
    if (signer === undefined) throw new Error(`the issuer has no key ${key}`);
    const alg = this.keys.find(({ kid }) => kid === key)?.alg ?? "RS256";
    const given = Object.fromEntries(Object.entries(payload).filter(([, value]) => value !== undefined));
    return new SignJWT(given).setProtectedHeader({ alg, kid: key, ...header }).sign(signer);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

export const DISCOVERY = "/.well-known/openid-configuration";
export const JWKS = "/keys";

/** What the tokens of the issuer say of a job. */
export const CLAIMS = {
  sub: "job-7",
  repository: "octo/app",
  sha: "c0ffee",
  run_id: 4711,
  ref: "refs/heads/main",
};
