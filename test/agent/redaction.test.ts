import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { maskerOf, maskIn } from "../../agent/core/redaction/mask.ts";
import { PUNCH_STEP_BYTES } from "../../agent/core/reports/chunks.ts";
import { MAX_LOG_CHUNK_BYTES } from "../../src/shared/limits.ts";
import { buildAgentWithSecrets, envOfSecrets, giveSecrets } from "./support/agent-with-secrets.ts";
import { type Bench, openBench, run } from "./support/bench.ts";
import type { Call } from "./support/fake-plane.ts";

const ID = "build-17/main/1.1";
const SECRET = "hunter22-hunter33-hunter44";
const MASKED = "*".repeat(SECRET.length);

let agent: string;
let bench: Bench;
beforeAll(async () => {
  agent = await buildAgentWithSecrets();
});
afterAll(() => rmSync(dirname(agent), { recursive: true }));
beforeEach(async () => {
  bench = await openBench();
  copyFileSync(agent, join(bench.dir, "drover-agent.mjs"));
  bench.plane.setup = { logsUrl: `${bench.plane.url}/v1/hosts/w-1/logs` };
  giveSecrets(bench, ID, [SECRET]);
});
afterEach(async () => {
  const { faults } = bench.plane;
  await bench.close();
  expect(faults).toEqual([]);
});

const start = () => bench.start(envOfSecrets(bench));
const fileOf = (name: string) => join(bench.dir, name);
/** What the task does once the test says so. */
const then = (script: string) => `while ! [ -e ${fileOf("go")} ]; do sleep 0.02; done; ${script}`;
const go = () => writeFileSync(fileOf("go"), "");
const storedText = (stream: "stdout" | "stderr" = "stdout") => bench.plane.stored(ID, stream).toString();
const isChunk = ({ path }: Call) => path.includes("/logs/");

/** The command that prints these files: no order names what is in them. */
function printing(...contents: (string | Buffer)[]): string[] {
  const files = contents.map((content, index) => {
    const file = fileOf(`content-${index}`);
    writeFileSync(file, content);
    return file;
  });
  return ["cat", ...files];
}

/** Bytes in which a secret stands every 97 bytes, so that each cut between two reads goes through some. */
function fullOfSecrets(bytes: number): Buffer {
  const parts: string[] = [];
  for (let n = 0; n * 97 < bytes; n += 1) parts.push(`${n} ${SECRET} `.padEnd(97, "."));
  return Buffer.from(parts.join("")).subarray(0, bytes);
}

/** The whole of an output as it must be stored. */
function masked(output: Buffer): Buffer {
  const after = Buffer.from(output);
  const masker = maskerOf([Buffer.from(SECRET)]);
  if (masker !== undefined) maskIn(masker, after);
  return after;
}

/** Compares without printing megabytes. */
const same = (a: Buffer, b: Buffer) => Buffer.compare(a, b) === 0;

/** The files of the agent that hold a text, but for the streams, which the task writes itself. */
function filesWith(text: string): string[] {
  return readdirSync(bench.stateDir, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile() && !/^std(?:out|err)$/.test(one.name))
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((file) => existsSync(file) && readFileSync(file).includes(text));
}

describe("what leaves the machine has no secret (redaction.md#equal-length)", () => {
  test("in reports: at the end without a line end, in base64, and on both streams", async () => {
    start();
    const [, file = "", alone = ""] = printing(`${SECRET}\nfirst ${SECRET} last ${SECRET}`, SECRET);
    bench.plane.order([run(ID, ["sh", "-c", `base64 ${alone}; cat ${file}; cat ${file} >&2`])]);
    await bench.plane.untilStored(ID);
    const expected = `${MASKED}\nfirst ${MASKED} last ${MASKED}`;
    // Of the last character only four bits belong to the secret.
    const encoded = Buffer.from(SECRET).toString("base64");
    expect(storedText()).toBe(`${"*".repeat(34)}${encoded.slice(34)}\n${expected}`);
    expect(storedText("stderr")).toBe(expected);
    expect(filesWith(SECRET)).toEqual([]);
  });

  test("in chunks, over every cut, as the disk is given back (redaction.md#re-reading)", async () => {
    const content = fullOfSecrets(2 * PUNCH_STEP_BYTES + 3 * MAX_LOG_CHUNK_BYTES);
    start();
    bench.plane.order([run(ID, printing(content))]);
    await bench.plane.untilStored(ID);
    expect(bench.plane.calls.filter(isChunk).some(({ raw }) => raw.includes(SECRET))).toBe(false);
    expect(same(bench.plane.stored(ID), masked(content))).toBe(true);
  });

  test("a killed agent's next start sends the same bytes again (redaction.md#re-reading)", async () => {
    const content = fullOfSecrets(12_000_000);
    // The first chunk is stored, the second one is not.
    bench.plane.override = (call) => (isChunk(call) && call.offset > 0 ? { status: 503 } : undefined);
    const first = start();
    bench.plane.order([run(ID, printing(content))]);
    const lost = await bench.plane.until("a chunk is refused", () =>
      bench.plane.calls.find((call) => isChunk(call) && call.offset > 0),
    );
    first.child.kill("SIGKILL");
    await first.ended;
    bench.plane.override = () => undefined;
    start();
    await bench.plane.untilStored(ID);
    expect(same(bench.plane.stored(ID), masked(content))).toBe(true);
    const again = bench.plane.stored(ID).subarray(lost.offset, lost.offset + lost.raw.length);
    expect(same(lost.raw, again)).toBe(true);
  });

  test("an attempt without secrets is sent as it is (redaction.md#secrets)", async () => {
    const other = "build-18/main/1.1";
    start();
    bench.plane.order([run(other, printing(`mine is ${SECRET}`))]);
    await bench.plane.untilStored(other);
    expect(bench.plane.stored(other).toString()).toBe(`mine is ${SECRET}`);
  });

  test("a secret that comes later is masked from then on (redaction.md#secrets)", async () => {
    start();
    const [, file = ""] = printing("later-secret\n");
    bench.plane.order([run(ID, ["sh", "-c", `cat ${file}; ${then(`cat ${file}`)}`])]);
    await bench.plane.until("the first line", () => storedText() === "later-secret\n");
    giveSecrets(bench, ID, [SECRET, "later-secret"]);
    go();
    await bench.plane.untilStored(ID);
    expect(storedText()).toBe("later-secret\n************\n");
  });
});

describe("while something may write, the beginning of a secret waits (redaction.md#hold-back)", () => {
  const [head, tail] = [SECRET.slice(0, 10), SECRET.slice(10)];
  const sizeOf = () => bench.plane.attempt(ID)?.log?.stdout?.size;

  test("a secret in two writes is masked whole; what stands before it is sent at once", async () => {
    start();
    const [, first = "", second = ""] = printing(`password: ${head}`, `${tail}!`);
    bench.plane.order([run(ID, ["sh", "-c", `cat ${first}; ${then(`cat ${second}`)}`])]);
    await bench.plane.until("the prompt", () => storedText() === "password: ");
    expect(sizeOf()).toBe("password: ".length);
    go();
    const { log } = await bench.plane.untilStored(ID);
    expect(storedText()).toBe(`password: ${MASKED}!`);
    expect(log?.stdout?.size).toBe(storedText().length);
  });

  test("a beginning that nothing follows is sent at the end, and counted", async () => {
    start();
    bench.plane.order([run(ID, printing(`password: ${head}`))]);
    const { log } = await bench.plane.untilStored(ID);
    expect(storedText()).toBe(`password: ${head}`);
    expect(log?.stdout?.size).toBe(storedText().length);
  });
});

describe("what the agent says of an attempt (redaction.md#texts)", () => {
  test("the error of a start that quotes its command, in the report and in the journal", async () => {
    start();
    bench.plane.order([run(ID, [`./${SECRET}`])]);
    const { startError } = await bench.plane.untilState(ID, "exited");
    expect(startError?.code).toBe("command_not_found");
    expect(startError?.text).toContain(MASKED);
    expect(filesWith(SECRET)).toEqual([]);
  });
});
