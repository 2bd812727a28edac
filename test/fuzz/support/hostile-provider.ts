import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import type { Json } from "../../edge/support/edge.ts";
import { wholeBody } from "../../support/whole-body.ts";

/** Texts that are too long, hide something, act on a terminal, or are the name of something else. */
const NASTY_TEXTS = [
  "",
  "x".repeat(70_000),
  "\u001b[2J\u0007\r\n\0",
  "\u202eevil\u2066\u200b",
  "__proto__",
  "constructor",
  "../../etc/passwd",
  "<script>alert(1)</script>",
  "\ud800",
  "a b&c=d#e?f/g",
];
const NASTY_NUMBERS = [-1, 0, 0.5, 1e308, -1e308, Number.MAX_SAFE_INTEGER, 2 ** 31];

const nasty: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(...NASTY_TEXTS, ...NASTY_NUMBERS, null, true, [], {}),
  fc.jsonValue(),
);

/** What an answer is made from: its request, and the existing machines. */
interface Asked {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Json;
  machines: Json[];
}

/** An answer of a service that is broken, or means harm. */
interface Answer {
  status: number;
  headers?: Record<string, string>;
  body: string | Buffer;
  /** The connection is cut before the end of the answer. */
  cut?: boolean;
}

type Trick = (asked: Asked, pick: <T>(from: fc.Arbitrary<T>) => T) => Answer;

const STATUSES = [
  200, 201, 204, 206, 301, 302, 307, 400, 401, 403, 404, 408, 409, 413, 422, 425, 429, 499,
].concat([500, 501, 502, 503, 504, 599]);
const CLASSES = ["rate_limit", "quota", "capacity", "invalid", "temporary"];

const asJson = (status: number, value: unknown): Answer => ({ status, body: JSON.stringify(value) ?? "" });

/** An honest answer with one place of it changed. */
function spoilt(value: Json, pick: <T>(from: fc.Arbitrary<T>) => T): Json {
  if (typeof value !== "object" || value === null) return pick(nasty);
  const keys = Object.keys(value);
  const key = pick(fc.constantFrom(...keys, "__proto__", "extra"));
  const copy = Array.isArray(value) ? [...value] : { ...value };
  const inner = Object.hasOwn(value, key) && pick(fc.boolean()) ? spoilt(value[key], pick) : pick(nasty);
  Object.defineProperty(copy, key, { value: inner, enumerable: true, configurable: true, writable: true });
  return copy;
}

/** Everything that a service may do wrong, by name. */
export const TRICKS: Record<string, Trick> = {
  "any status": ({ machines }, pick) =>
    asJson(pick(fc.constantFrom(...STATUSES)), { items: machines, complete: true }),
  "no JSON": (_asked, pick) => ({ status: pick(fc.constantFrom(...STATUSES)), body: "<html>busy</html>" }),
  "no text": () => ({ status: 200, body: Buffer.from([0xff, 0xfe, 0x00, 0xc3, 0x28]) }),
  nothing: () => ({ status: 200, body: "" }),
  "a body that is cut": () => ({ status: 200, body: '{"items": [', cut: true }),
  "a long body": () => ({ status: 200, body: `{"items": [], "x": "${"y".repeat(3_000_000)}"}` }),
  "a long header": () => ({ status: 503, headers: { "x-long": "z".repeat(8_000) }, body: "" }),
  elsewhere: () => ({ status: 307, headers: { location: "http://127.0.0.1:9/instances" }, body: "" }),
  "an odd pause": (_asked, pick) => ({
    status: 429,
    headers: { "retry-after": pick(fc.constantFrom("-1", "1e99", "0.1", "tomorrow", "9".repeat(400))) },
    body: JSON.stringify({ class: "rate_limit", text: "slow down", retryAfterMs: pick(nasty) }),
  }),
  "an odd problem": (_asked, pick) =>
    asJson(pick(fc.constantFrom(400, 403, 409, 429, 500, 503)), {
      class: pick(fc.constantFrom<unknown>(...CLASSES, "other", 7)),
      text: pick(nasty),
      scope: pick(fc.constantFrom<unknown>("all", "group", "type", "none", undefined)),
    }),
  "its request": ({ headers, body }) =>
    asJson(503, { class: "temporary", text: `cannot: ${JSON.stringify({ headers, body })}` }),
  "a spoilt machine": ({ machines }, pick) =>
    asJson(200, { items: machines.map((one) => spoilt(one, pick)), complete: true }),
  "a spoilt page": ({ machines }, pick) =>
    asJson(200, spoilt({ items: machines, complete: true, next: null }, pick)),
  "machines of others": ({ machines }, pick) =>
    asJson(200, {
      items: machines.flatMap((one) => [one, { ...one, id: pick(fc.string()) || "i" }]),
      complete: true,
    }),
  "many machines": ({ machines }) =>
    asJson(200, {
      items: Array.from({ length: 500 }, (_, at) => ({ ...machines[0], id: `i-${at}`, name: `n-${at}` })),
      complete: true,
    }),
  "pages without an end": ({ machines }) => asJson(200, { items: machines, next: "again" }),
  "nothing exists": () => asJson(200, { items: [], complete: true }),
};

/** A provider that answers by a seed: with tricks first, and honestly once `relent` is called. */
export class HostileProvider {
  readonly url: string;
  /** How often each trick was played. */
  readonly played = new Map<string, number>();
  /** The secrets and codes that it received: nobody else may get them. */
  readonly confided = new Set<string>();
  readonly #server: ReturnType<typeof createServer>;
  readonly #machines = new Map<string, Json>();
  #isHonest = false;
  #seed: number;
  /** The next answers: each trick once, among honest ones, in random order. */
  #deck: string[] = [];

  private constructor(server: ReturnType<typeof createServer>, seed: number) {
    this.#server = server;
    this.#seed = seed;
    // It listens on a port, so its address has this type.
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on("request", (request, response) => void this.#serve(request, response));
  }

  static async open(seed: number): Promise<HostileProvider> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new HostileProvider(server, seed);
  }

  /** From now on it answers honestly. */
  relent(): void {
    this.#isHonest = true;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = (await wholeBody(request))?.toString();
    if (text === undefined) return;
    const body: Json = text === "" ? undefined : JSON.parse(text);
    const { method = "", url: path = "" } = request;
    const headers = { authorization: request.headers.authorization ?? "" };
    this.#confide(headers.authorization, body);
    const asked = { method, path, headers, body, machines: this.#machinesFor(path) };
    const answer = this.#isHonest ? this.#honest(asked) : this.#trick(asked);
    response.writeHead(answer.status, { "content-type": "application/json", ...answer.headers });
    if (answer.cut === true) response.write(answer.body, () => response.destroy());
    else response.end(answer.status === 204 ? undefined : answer.body);
  }

  #confide(authorization: string, body: Json): void {
    this.confided.add(authorization.replace("Bearer ", ""));
    const [code] = /drvc_[^'"\s]+/.exec(body?.userData ?? "") ?? [];
    if (code !== undefined) this.confided.add(code);
  }

  /** The machines with the tag in the query of a listing. */
  #machinesFor(path: string): Json[] {
    const tag = new URL(path, this.url).searchParams.get("tag") ?? "";
    return [...this.#machines.values()].filter(({ tags }) =>
      Object.entries(tags).some(([name, value]) => `${name}:${value}` === tag),
    );
  }

  /**
   * Each trick comes once before any comes again: a pool pauses between its calls, so chance could take hours
   * to pick the last trick. One call in four is answered honestly: otherwise there would be no machine to
   * spoil.
   */
  #trick(asked: Asked): Answer {
    const pick = <T>(from: fc.Arbitrary<T>): T => {
      this.#seed += 1;
      const [one] = fc.sample(from, { seed: this.#seed, numRuns: 1 });
      return one as T; // one was asked for
    };
    if (this.#deck.length === 0) {
      const tricks = Object.keys(TRICKS);
      const cards = [...tricks, ...Array<string>(Math.ceil(tricks.length / 3)).fill("honest")];
      this.#deck = pick(fc.shuffledSubarray(cards, { minLength: cards.length }));
    }
    const name = this.#deck.pop() ?? "honest";
    const trick = TRICKS[name];
    if (trick === undefined) return this.#honest(asked);
    this.played.set(name, (this.played.get(name) ?? 0) + 1);
    return trick(asked, pick);
  }

  #honest({ method, path, body, machines }: Asked): Answer {
    if (method === "GET") return asJson(200, { items: machines, complete: true });
    if (method === "DELETE") {
      this.#machines.delete(decodeURIComponent(path.split("/").at(-1) ?? ""));
      return asJson(200, {});
    }
    const { token, name, instanceType, tags } = body;
    const times = { state: "running", createdAt: new Date(0).toISOString() };
    const machine = { id: `i-${token}`, name, address: null, instanceType, tags, ...times };
    this.#machines.set(machine.id, machine);
    return asJson(201, machine);
  }
}
