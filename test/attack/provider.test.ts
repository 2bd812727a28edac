import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { httpProvider } from "../../src/providers/http.ts";
import { veilOf } from "../../src/providers/veil.ts";
import { ProviderConfig } from "../../src/schema/pool/provider-config.ts";
import type { CreateInstance } from "../../src/schema/provider.ts";
import { machine } from "../support/provider.ts";

// A provider is asked with a secret, and is sent codes with which machines enroll. Its words are kept.

const SECRET = 'p4ss/"w<rd"-of-the-pool';
const CODE = "drvc_default-1a2b-1.1795425600.Zm9yZ2VkLWJ5LW5vYm9keQ_-x";
const WANTED: CreateInstance = {
  token: "default-1a2b-1",
  name: "default-1a2b-1",
  instanceType: "small",
  image: "",
  userData: `#!/bin/sh\nset -eu\nprintf '%s' ${CODE} > "$dir/code"\n`,
  tags: {},
  resources: { vcpus: 1, memoryBytes: 1, diskBytes: 0, gpus: 0 },
};

type Answer = (request: IncomingMessage, body: string, response: ServerResponse) => void;
let server: Server;
let answer: Answer;
beforeEach(async () => {
  server = createServer(async (request, response) => answer(request, await text(request), response));
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** What is kept of all three calls, with an answer that repeats what it was sent. */
async function kept(to: Answer): Promise<string> {
  answer = to;
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const cloud = httpProvider({ kind: "http", url, secret: SECRET }, () => 0, 5_000);
  const answers = [
    await cloud.create(WANTED),
    await cloud.list("drover-pool:p", []),
    await cloud.destroy(machine("i-1")),
  ];
  return JSON.stringify(answers);
}

const base64 = (value: string) => Buffer.from(value).toString("base64");
/** What a service may write of a request, in its own way. */
const echo = ({ headers }: IncomingMessage, body: string) => `${headers.authorization} ${body}`;

describe("X19: what a provider repeats of a request shows no secret", () => {
  test.each<[string, Answer]>([
    [
      "in its own words",
      (request, body, response) =>
        response
          .writeHead(500)
          .end(JSON.stringify({ class: "temporary", text: `echo ${echo(request, body)}` })),
    ],
    ["as a page", (request, body, response) => response.writeHead(502).end(`<p>${echo(request, body)}</p>`)],
    [
      "as a page, with care",
      (request, body, response) => {
        const page = echo(request, body)
          .replaceAll("&", "&amp;")
          .replaceAll("<", "&lt;")
          .replaceAll('"', "&quot;");
        response.writeHead(502).end(page);
      },
    ],
    [
      "as JSON of another form, with escapes of its own",
      (request, body, response) => {
        const json = JSON.stringify({ headers: request.headers, body: JSON.parse(body || "{}") });
        response.writeHead(400).end(json.replaceAll("/", "\\/").replaceAll("<", "\\u003c"));
      },
    ],
    [
      "by base64",
      (request, body, response) => {
        const { userData = "" } = JSON.parse(body || "{}") as Partial<CreateInstance>;
        response.writeHead(403).end(`${base64(echo(request, ""))} ${base64(userData)}`);
      },
    ],
    [
      "at the place where it is cut",
      (request, body, response) => {
        const before = "x".repeat(1_024 - "the provider answered 404: ".length - 12);
        response.writeHead(404).end(before + (request.method === "POST" ? CODE : "") + echo(request, body));
      },
    ],
    [
      "in what is not as agreed",
      (request, body, response) => {
        const tags = { [echo(request, body)]: 1 };
        const machine = {
          id: "i-1",
          name: "n",
          address: null,
          state: "running",
          instanceType: "",
          createdAt: "",
        };
        const items = [{ ...machine, tags }];
        response.end(JSON.stringify({ ...machine, tags, items, complete: true }));
      },
    ],
  ])("%s", async (_, to) => {
    const all = await kept(to);
    expect(all).toContain("[secret]");
    for (const [what, least] of [
      [SECRET, 6],
      [CODE.slice(CODE.lastIndexOf(".") + 1), 6],
    ] as const) {
      for (let at = 0; at + least <= what.length; at += 1) {
        expect(all).not.toContain(JSON.stringify(what.slice(at, at + least)).slice(1, -1));
      }
      const inner = base64(`..${what}`).slice(8, 20);
      for (const shift of ["", "x", "xx"]) expect(all).not.toContain(base64(shift + what).slice(8, 20));
      expect(all).not.toContain(inner);
    }
  });

  test("machines are those that it names, whatever the secret is", async () => {
    const machine = {
      id: "i-1",
      name: "n",
      address: null,
      state: "running",
      instanceType: "s",
      createdAt: "",
    };
    answer = (_request, _body, response) =>
      void response.end(JSON.stringify({ items: [{ ...machine, tags: {} }], complete: true }));
    const { port } = server.address() as AddressInfo;
    const cloud = httpProvider({ kind: "http", url: `http://127.0.0.1:${port}`, secret: "i" }, () => 0);
    expect(await cloud.list("drover-pool:p", [])).toMatchObject({ items: [machine] });
  });

  test("wherever base64 begins, nothing of a secret but its ends is left", () => {
    const printable = fc.string({ minLength: 12, maxLength: 40, unit: "grapheme" });
    fc.assert(
      fc.property(printable, printable, printable, (before, secret, after) => {
        const left = veilOf([secret])(base64(before + secret + after));
        expect(left).toContain("[secret]");
      }),
    );
  });
});

describe("X19: the URL of a provider has nothing secret in it, and nothing that acts", () => {
  const config = (url: string) => ProviderConfig.safeParse({ kind: "http", url, secret: "s" });

  test.each([
    "http://127.0.0.1:8080",
    "https://machines.example.com",
    "https://machines.example.com/v1/",
    "http://[::1]:8080/a/b",
    "https://machines.example.com/@team/~x",
  ])("%s is one", (url) => expect(config(url).success).toBe(true));

  test.each([
    ["https://user:pw@machines.example.com"],
    ["https://token@machines.example.com/v1"],
    ["https://machines.example.com/\r\nx: y"],
    ["https://machines.example.com/\u0000"],
    ["https://machines.example.com/a b"],
    [" https://machines.example.com"],
    ["https://machines.example.com\n"],
    ["https://machines.example.com/?key=secret"],
    ["https://machines.example.com/#x"],
    ["https://machines.example.com:99999"],
    ["https://\u202emoc.elpmaxe"],
    ["https:///instances"],
    ["ftp://machines.example.com"],
    ["https://machines\\.example.com@evil.test"],
  ])("%j is refused, and the answer says where a password goes", (url) => {
    expect(config(url).error?.issues[0]?.message).toContain("put a password of the service into `secret`");
  });
});

test.each(["a\r\nx: y", "a b", "\u0000", "é", ""])(
  "X19: %j is no secret: it goes into a header",
  (secret) => {
    const read = ProviderConfig.safeParse({ kind: "http", url: "http://127.0.0.1:1", secret });
    expect(read.error?.issues.map(({ message }) => message)).toEqual([
      expect.stringContaining("sent in a header"),
    ]);
  },
);
