import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../local/support/scratch.ts";
import { COMMAND, drover, endDrover, makeHome, type RunningDrover, startDrover } from "./support/drover.ts";
import type { Json } from "./support/edge.ts";

// A real agent stamps what real processes write, and `drover logs` shows both streams in this order
// (api.md#arrivals).

/** The times of a run are counted back from when its host's report arrived, which may have been under way. */
const UNDER_WAY_MS = 5_000;

let home: string;
let up: RunningDrover;
beforeAll(async () => {
  home = makeHome("log-order");
  up = await startDrover(home);
});
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

const TERMINAL = "terminal";

/** What a terminal shows: both streams of the command in one file. */
async function shown(...args: string[]): Promise<string> {
  const path = join(home, TERMINAL);
  const file = openSync(path, "w");
  const child = spawn(process.execPath, [COMMAND, "logs", ...args], {
    cwd: home,
    stdio: ["ignore", file, file],
  });
  await new Promise((resolve) => child.once("close", resolve));
  closeSync(file);
  return readFileSync(path, "utf8");
}

const arrivalsOf = (id: string, query = ""): Promise<Json> =>
  up.json(200, "GET", `/v1/runs/${id}/logs/main${query}`);

/**
 * Runs a script that writes these words, those that begin with `!` to stderr. It writes each once the control
 * plane has stamps of the one before.
 */
async function run(id: string, words: string[]): Promise<void> {
  const go = (index: number) => join(home, `${id}-${index}`);
  const steps = words.map((word, index) => {
    const wait = `while ! [ -e ${go(index)} ]; do sleep 0.01; done`;
    return `${wait}; echo ${word.slice(1)}${word.startsWith("!") ? " >&2" : ""}`;
  });
  await up.json(201, "POST", "/v1/runs", { id, argv: ["sh", "-c", steps.join("; ")] });
  for (const [index] of words.entries()) {
    closeSync(openSync(go(index), "w"));
    await until(`${id} has written ${index + 1} words`, async () => {
      const { items } = await arrivalsOf(id);
      return items.length > index ? true : undefined;
    });
  }
}

const endOf = (id: string) => up.json(200, "GET", `/v1/runs/${id}?wait=30s&state=done`);

describe("words to both streams in turns", () => {
  const WORDS = ["-one", "!two", "-three", "!four", "!five", "-six"];
  beforeAll(async () => {
    await run("turns", WORDS);
    await endOf("turns");
  });

  test("are shown in turns", async () => {
    expect(await shown("turns")).toBe("one\ntwo\nthree\nfour\nfive\nsix\n");
  });

  test("with the times at which they arrived, one after the other, within the times of the run", async () => {
    const lines = (await shown("-t", "turns")).trimEnd().split("\n");
    expect(lines.map((line) => line.split(" ")[1])).toEqual(["one", "two", "three", "four", "five", "six"]);
    const times = lines.map((line) => line.split(" ")[0] ?? "");
    const { startedAt, finishedAt } = await endOf("turns");
    expect(times).toEqual([...times].sort());
    const ms = (text: string | undefined) => Date.parse(text ?? "");
    expect(ms(times[0])).toBeGreaterThanOrEqual(ms(startedAt) - UNDER_WAY_MS);
    expect(ms(times.at(-1))).toBeLessThanOrEqual(ms(finishedAt) + UNDER_WAY_MS);
  });

  test("since the time of one, those from there on", async () => {
    const { items } = await arrivalsOf("turns");
    expect(await shown("--since", items[3].at, "turns")).toBe("four\nfive\nsix\n");
    expect(await shown("--since", items[3].at, "--stderr", "turns")).toBe("four\nfive\n");
    expect(await shown("--since", "1d", "--tail", "1", "turns")).toBe("five\nsix\n");
  });

  test("are the same bytes in each stream as ever", async () => {
    const { stdout, stderr } = await drover(home, ["logs", "turns"]);
    expect([stdout.toString(), stderr]).toEqual(["one\nthree\nsix\n", "two\nfour\nfive\n"]);
  });
});

test("what is followed over a restart comes attempt by attempt", async () => {
  const seen = join(home, "seen");
  const script = `echo a; echo b >&2; while ! [ -e ${seen} ]; do sleep 0.01; done; exit 1`;
  const main = { name: "main", argv: ["sh", "-c", script] };
  const restart = { attempts: 1, delay: "1s", interval: "1m", mode: "fail" };
  await up.json(201, "POST", "/v1/runs", {
    id: "twice",
    tasks: [{ ...main, restart }],
    reschedule: { attempts: 0 },
  });
  const following = shown("-f", "twice");
  // Whoever comes after the restart follows the second attempt alone.
  await until("the first attempt is shown", () => {
    const text = readFileSync(join(home, TERMINAL), "utf8");
    return text.includes("a\n") && text.includes("b\n") ? true : undefined;
  });
  closeSync(openSync(seen, "w"));
  const text = await following;
  expect([...text.replaceAll("\n", "")].sort().join("")).toBe("aabb");
  expect([...text.replaceAll("\n", "").slice(0, 2)].sort().join("")).toBe("ab");
  expect(await shown("--attempt", "1.1", "--stdout", "twice")).toBe("a\n");
});

test("a long poll is answered when something arrives", async () => {
  await up.json(201, "POST", "/v1/runs", {
    id: "late",
    argv: ["sh", "-c", `while ! [ -e ${join(home, "late")} ]; do sleep 0.01; done; echo x >&2`],
  });
  const waiting = arrivalsOf("late", "?wait=30s");
  closeSync(openSync(join(home, "late"), "w"));
  expect((await waiting).items).toMatchObject([{ stream: "stderr", from: 0, to: 2, after: null }]);
});
