import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Bench, kill, openBench, run } from "./support/bench.ts";

// Real processes write to both streams, and a real agent says in which order that came
// (host-protocol.md#stamps).

const ID = "build-17/main/1.1";
/** Nothing that is masked begins with its last character: the agent would hold back what may begin that. */
const GONE = "!gone.";
const SECRET = Buffer.from("hunter2-hunter2");

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(async () => {
  const { faults } = bench.plane;
  await bench.close();
  expect(faults).toEqual([]);
});

/** A task that writes each text once its file is there: those that begin with `!` to stderr. */
function writes(...texts: string[]): string {
  const lines = texts.map((text, index) => {
    const to = text.startsWith("!") ? ">&2" : "";
    return `while ! [ -e ${fileOf(index)} ]; do sleep 0.01; done; printf %s '${text}' ${to}`;
  });
  return `${lines.join("; ")}; while ! [ -e ${fileOf(texts.length)} ]; do sleep 0.01; done`;
}

const fileOf = (index: number) => join(bench.dir, `go-${index}`);
const go = (index: number) => writeFileSync(fileOf(index), "");
const stampsFile = () => join(bench.stateDir, "attempts", "build-17_main_1.1", "stamps");
const stampsKept = () => (existsSync(stampsFile()) ? readFileSync(stampsFile(), "utf8") : "");

/** Lets the task write its next text, and waits until the agent has stamped it. */
async function writeNext(index: number): Promise<void> {
  const before = stampsKept();
  go(index);
  await expect.poll(stampsKept).not.toBe(before);
}

/** What `inOrder` says, with neighbors of the same stream joined: a look may see half of a text. */
function order(): string[] {
  const joined: string[] = [];
  for (const piece of bench.plane.inOrder(ID)) {
    const [stream = ""] = piece.split(" ");
    const last = joined.at(-1);
    const joins = last?.startsWith(stream) === true && !piece.includes("~");
    joined.push(joins ? joined.pop() + piece.slice(stream.length + 1) : piece);
  }
  return joined;
}

test("what was written in turns is in turns", async () => {
  bench.start();
  bench.plane.order([run(ID, ["sh", "-c", writes("a", "!b", "c", "!d", "!e", "f")])]);
  for (let index = 0; index < 6; index += 1) await writeNext(index);
  go(6);
  await bench.plane.untilStored(ID);
  expect(order()).toEqual(["stdout a", "stderr !b", "stdout c", "stderr !d!e", "stdout f"]);
});

test("a masked secret keeps its place and its time (redaction.md#equal-length)", async () => {
  bench.plane.secrets[ID] = { TOKEN: SECRET };
  bench.start();
  const script = writes("a ", `!${SECRET}`, "c");
  bench.plane.order([run(ID, ["sh", "-c", script], { secrets: { TOKEN: { secret: "token", as: "env" } } })]);
  for (let index = 0; index < 3; index += 1) await writeNext(index);
  go(3);
  await bench.plane.untilStored(ID);
  expect(order()).toEqual(["stdout a ", `stderr !${"*".repeat(SECRET.length)}`, "stdout c"]);
});

test("a killed agent finds its stamps, and marks what it missed (host-protocol.md#survives)", async () => {
  // The control plane hears of nothing until the agent has been killed: only the file knows what was first.
  bench.plane.override = ({ body }) => (body.includes('"data"') ? { status: 503 } : undefined);
  const agent = bench.start();
  bench.plane.order([run(ID, ["sh", "-c", writes("a", "!b", "c", GONE, "back")])]);
  for (let index = 0; index < 3; index += 1) await writeNext(index);
  await kill(agent);
  go(3);
  const stderr = join(bench.stateDir, "attempts", "build-17_main_1.1", "stderr");
  await expect.poll(() => readFileSync(stderr, "utf8")).toBe(`!b${GONE}`);
  bench.plane.override = () => undefined;
  bench.start();
  await bench.plane.until("it is stored", () => bench.plane.stored(ID, "stderr").toString() === `!b${GONE}`);
  await writeNext(4);
  go(5);
  await bench.plane.untilStored(ID);
  expect(order()).toEqual(["stdout a", "stderr !b", "stdout c", `stderr ~${GONE}`, "stdout back"]);
});
