import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sized } from "../chance/length.ts";
import { SEED } from "../chance/seed.ts";
import type { Json } from "../edge/support/edge.ts";
import { type Server, startServer } from "../edge/support/server.ts";
import { faultsOfStorage } from "./support/audit.ts";
import { CALLERS, type CallerName, callersOf } from "./support/callers.ts";
import { Sender } from "./support/http.ts";
import { faultsOfAnswer } from "./support/judge.ts";
import { type Cell, cellsOf, nameOfCell } from "./support/mutations.ts";
import { type Document, type Operation, readDocument } from "./support/operations.ts";
import { plan } from "./support/requests.ts";
import { World } from "./support/world.ts";

// Every place of every operation that `/openapi.json` says, changed in every way that applies, over HTTP
// against a real Drover. What is found is shrunk, and printed with what repeats it:
// DROVER_SEED=… DROVER_FUZZ_PATH=… DROVER_FUZZ_CELL='…' npx vitest run test/fuzz/fuzz.long.test.ts

/** So many cells of an operation are tried, by chance: of a submission and a report there are thousands. */
const MOST_CELLS = sized(60, Number.POSITIVE_INFINITY);
/** By so many of those who may call the operation each cell is tried. */
const CALLERS_OF_CELL = sized(1, 2);
/** So many by each caller who lacks the scope: whatever they ask, the answer is the same. */
const MOST_CELLS_IN_VAIN = sized(3, 50);
/** It goes on with other values for so long at least; in `npm test` one round is enough. */
const LEAST_MS = Number(process.env.DROVER_FUZZ_MS ?? sized(0, 60_000));
/** On a slow machine it goes on longer, until each operation has succeeded, for so many rounds at most. */
const ROUNDS = 8;
const PATH = process.env.DROVER_FUZZ_PATH;
const ONLY = process.env.DROVER_FUZZ_CELL ?? "";
const AT_ONCE = 8;
const MAX_SHOWN = 400;
const MAX_FINDINGS = 40;

let server: Server;
let doc: Document;
let world: World;
let sender: Sender;
beforeAll(async () => {
  server = await startServer();
  doc = readDocument(await server.json(200, "GET", "/openapi.json"));
  world = await World.make(server);
  sender = new Sender(server.url);
});
afterAll(async () => {
  sender?.end();
  await server?.stop();
});

const findings = new Map<string, string>();
const tried = new Map<string, number>();
const answered = new Map<string, Map<number, number>>();

/**
 * Sends what is planned; once more if the host that was to sign it had been ended by what it had said
 * before.
 */
async function ask(cell: Cell, change: Json, pick: number) {
  const planned = await plan(doc, world, cell, change, pick);
  let reply = await sender.send(planned.wire);
  // On a fast machine the requests of one token come faster than it may ask.
  while (reply.status === 429 && /;r=0;/.test(String(reply.headers.ratelimit))) {
    await sleep(Number(reply.headers["retry-after"]) * 1_000);
    reply = await sender.send(planned.wire);
  }
  const isOver = reply.status === 410 && cell.operation.name.includes("/v1/hosts/{worker}");
  if (!isOver || planned.expected.as !== "refused") return { planned, reply };
  world.forgetSpeaker(cell.operation.path);
  const again = await plan(doc, world, cell, change, pick);
  return { planned: again, reply: await sender.send(again.wire) };
}

/** Tries a cell with some values. What it finds is kept, once for each cell. */
async function tryCell(cell: Cell, seed: number, path?: string): Promise<void> {
  const name = nameOfCell(cell);
  const property = fc.asyncProperty(cell.change, fc.nat(10_000), async (change, pick) => {
    const { planned, reply } = await ask(cell, change, pick);
    const { wire } = planned;
    const body: Json = reply.type === "application/json" && !reply.cut ? JSON.parse(reply.text) : undefined;
    await world.note(cell.operation.name, wire.path, reply.status, body);
    const statuses = answered.get(cell.operation.name) ?? new Map<number, number>();
    answered.set(cell.operation.name, statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1));
    tried.set(name, (tried.get(name) ?? 0) + 1);
    const faults = faultsOfAnswer(doc, cell.operation, planned, reply);
    if (faults.length > 0) {
      const sent = `${wire.method} ${wire.path} ${JSON.stringify(wire.headers)} ${wire.body ?? ""}`;
      throw new Error(`${faults.join("; ")}\n${cut(sent)}\n${reply.status} ${cut(reply.text)}`);
    }
  });
  const result = await fc.check(property, { seed, numRuns: 1, ...(path === undefined ? {} : { path }) });
  if (!result.failed || findings.has(name)) return;
  const error =
    result.errorInstance instanceof Error ? result.errorInstance.message : String(result.errorInstance);
  const again = `DROVER_SEED=${result.seed} DROVER_FUZZ_PATH=${result.counterexamplePath}`;
  findings.set(name, `${name}\n${error}\n${again} DROVER_FUZZ_CELL='${name}'`);
}

const cut = (text: string) => (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);

/** These in an order that the seed says. */
function shuffled<One>(all: One[], seed: number): One[] {
  const some = fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length });
  return fc.sample(some, { seed, numRuns: 1 })[0] ?? [];
}

/** The cells of an operation. Those who may call it try them in turn. */
function cellsToTry(operation: Operation): Cell[] {
  const { may, mayNot } = callersOf(operation);
  // In one order for each caller: the same place is the same cell of each.
  const by = (caller: CallerName) => shuffled(cellsOf(operation, doc.schemas, caller), SEED);
  if (ONLY !== "") return [...may, ...mayNot].flatMap(by).filter((cell) => nameOfCell(cell).startsWith(ONLY));
  const inVain = mayNot.flatMap((caller) => by(caller).filter(reaches).slice(0, MOST_CELLS_IN_VAIN));
  const all = may.map(by);
  const turns = [0, 1].slice(0, Math.min(all.length, CALLERS_OF_CELL));
  const inTurn = turns.flatMap((turn) => {
    const [first = []] = all;
    return first.slice(0, MOST_CELLS).map((cell, n) => all[(n + turn) % all.length]?.[n] ?? cell);
  });
  return [...inTurn, ...inVain];
}

/** Whether a request of a cell surely reaches its operation with its caller's token. */
function reaches({ site, kind }: Cell): boolean {
  return (
    site.in !== "request" || !["method", "long-path", "encoding", "no-token", "bad-token"].includes(kind)
  );
}

/** Those who send no request to an operation that needs a token. */
function missingCallers(operation: Operation, cells: Cell[]): string[] {
  const senders = new Set(cells.filter((cell) => cell.operation === operation).map(({ caller }) => caller));
  const missing = operation.secured ? CALLERS.filter((caller) => !senders.has(caller)) : [];
  return missing.map((caller) => `${operation.name} by ${caller}`);
}

/** All cells once, some at a time. */
async function tryAll(cells: Cell[], seed: number): Promise<void> {
  const open = shuffled(cells, seed);
  const work = async () => {
    for (let cell = open.pop(); cell !== undefined && findings.size < MAX_FINDINGS; cell = open.pop()) {
      await tryCell(cell, seed, PATH);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

test("whatever a request says, the answer is one that the document allows", {
  timeout: 1_800_000,
}, async () => {
  const cells = doc.operations.flatMap(cellsToTry);
  if (ONLY === "") expect(doc.operations.flatMap((one) => missingCallers(one, cells))).toEqual([]);
  const beganAt = performance.now();
  let rounds = 0;
  let next = cells;
  while (next.length > 0) {
    await tryAll(next, SEED + rounds);
    rounds += 1;
    if (findings.size >= MAX_FINDINGS || PATH !== undefined) break;
    if (performance.now() - beganAt < LEAST_MS) continue;
    // Only the operations that have not succeeded yet are tried again.
    const missing = ONLY === "" && rounds < ROUNDS ? withoutSuccess() : [];
    next = cells.filter(({ operation }) => missing.includes(operation.name));
  }
  const requests = [...tried.values()].reduce((sum, n) => sum + n, 0);
  const seconds = Math.round((performance.now() - beganAt) / 1_000);
  console.info(`${requests} requests, ${cells.length} cells, ${rounds} rounds, ${seconds} s, seed ${SEED}`);
  for (const line of tableOf(cells)) console.info(line);
  expect([...findings.values()].join("\n\n")).toBe("");
  expect(cells.map(nameOfCell).filter((name) => !tried.has(name))).toEqual([]);
  if (ONLY === "") expect(withoutSuccess()).toEqual([]);
  expect(await faultsOfStorage(server, world)).toEqual([]);
});

/** For each operation: its places, the ways in which they were changed, and how it has answered. */
function tableOf(cells: Cell[]): string[] {
  return [...answered].map(([name, statuses]) => {
    const own = cells.filter(({ operation }) => operation.name === name);
    const places = new Set(own.map(({ site }) => `${site.in} ${site.name}`)).size;
    const kinds = new Set(own.map(({ kind }) => kind)).size;
    const counts = [...statuses].sort(([a], [b]) => a - b).map(([status, n]) => `${n}×${status}`);
    return `${name}: ${places} places, ${kinds} kinds: ${counts.join(" ")}`;
  });
}

/** Operations that have never done what they are for: what was sent to them did not reach far. */
function withoutSuccess(): string[] {
  const taken = doc.operations.filter(({ name }) =>
    [...(answered.get(name)?.keys() ?? [])].some((status) => status < 400),
  );
  // A socket begins with another request than `fetch` makes. Tokens of an issuer, and of an attempt that
  // runs, are good once or for a while: `test/edge/oidc-runs.test.ts` has them.
  // So are secrets of an attempt that is about to start: `test/objects/secrets.test.ts`.
  // Only an operator can put an archive of Node into the bucket: `test/edge/boot.test.ts`.
  // The workers are self-hosted, and only a provider's machine has a console: `test/objects/console.test.ts`.
  const isElsewhere = ({ name }: { name: string }) =>
    / \/(v1\/oidc\/|v1\/hosts\/\{worker\}\/secrets|v1\/workers\/\{id\}\/console|node\/)/.test(name);
  return doc.operations
    .filter((one) => !taken.includes(one) && !("101" in one.answers) && !isElsewhere(one))
    .map(({ name }) => name);
}
