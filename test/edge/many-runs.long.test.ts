import { type ChildProcess, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient } from "../../client/client.ts";
import { sized } from "../chance/length.ts";
import { until } from "../local/support/scratch.ts";
import {
  endDrover,
  killIfThere,
  makeHome,
  poolConfigOf,
  type RunningDrover,
  startDrover,
} from "./support/drover.ts";
import type { Json } from "./support/edge.ts";

// What issue 6 promises of many runs and of clients and control planes that are killed, on a real `drover up`
// with real clients and real commands. What needs no command waits in a pool without machines.

const RUNS = sized(150, 1_000);
const PAGE = 100;
/** Clients that wait while the control plane is killed. */
const CLIENTS = 100;

let home: string;
let up: RunningDrover;
beforeAll(async () => {
  home = makeHome("many-runs");
  up = await startDrover(home);
  const config = await poolConfigOf(up);
  await up.json(200, "PUT", "/v1/pools/default", { ...config, allowFakeDriver: true });
  const { provider, instanceTypes } = config;
  await up.json(201, "PUT", "/v1/pools/patient", { provider, instanceTypes, maxInstances: 0 });
});
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

/**
 * For how long nothing answers on a busy machine, while a killed control plane starts again, or while all
 * runs start at once: a request that waits takes a minute until the client gives it up.
 */
const SILENT_MS = 600_000;

const clientOf = ({ url, token }: RunningDrover) =>
  createClient({ url, token, patience: { unreachableMs: SILENT_MS } });

/** A run that waits, for there is no machine. */
const WAITS = { argv: ["true"], pool: "patient" };

/** So little that one machine runs many at once. */
const SMALL = { resources: { vcpus: 0, memory: "16MiB" } };

/** A run that is over as soon as it runs, and takes next to nothing of a machine. */
const played = (more: object = {}) => ({
  tasks: [{ name: "main", argv: ["x"], driver: "fake" as const, fake: { runFor: "1ms" } }],
  resources: { vcpus: 0, memory: "4MiB" },
  restart: { attempts: 0 },
  ...more,
});

async function idsOfPage(query: string): Promise<{ ids: string[]; next: string | null; all: Json }> {
  const { items, next, all } = await up.json(200, "GET", `/v1/runs?${query}`);
  return { ids: items.map((run: Json) => run.id), next, all };
}

describe("many runs (issue 6, done when)", () => {
  test(`${RUNS} commands in a batch, one wait for all of them, pages while as many more come`, async () => {
    const client = clientOf(up);
    const exitCodeOf = (index: number) => index % 7;
    const batch = (set: string, specOf: (index: number) => object) => {
      const specs = Array.from({ length: RUNS }, (_, index) => ({
        ...SMALL,
        ...specOf(index),
        labels: { set },
      }));
      return client.runs.submitBatch(specs, { key: `many-${set}` });
    };
    const first = await batch("first", (index) => ({ argv: ["sh", "-c", `exit ${exitCodeOf(index)}`] }));
    const ids = first.map(({ id }) => id);
    expect(new Set(ids).size).toBe(RUNS);
    const all = client.runs.waitAll({ labels: { set: "first" }, limit: 1 });
    const byIds = client.runs.waitAll({ ids });
    expect((await all).all).toEqual({ holds: true, open: 0, possible: true });
    expect((await byIds).items.map(({ id, state, exitCode }) => [id, state, exitCode])).toEqual(
      ids.map((id, index) => [id, "complete", exitCodeOf(index)]),
    );
    const more = batch("second", () => WAITS);
    const seen: string[] = [];
    let next: string | null = "";
    while (next !== null) {
      const cursor: string = next === "" ? "" : `&cursor=${next}`;
      const page = await idsOfPage(`label=set:first&state=done&limit=${PAGE}${cursor}`);
      expect(page.ids.length).toBeLessThanOrEqual(PAGE);
      seen.push(...page.ids);
      next = page.next;
    }
    expect(seen.length).toBe(RUNS);
    expect([...seen].sort()).toEqual([...ids].sort());
    expect(await more).toHaveLength(RUNS);
  }, 1_200_000);
});

/** A client in a process of its own: it submits, and writes what it was answered. */
const SUBMIT = `
  const [url, token, key, body] = process.argv.slice(1);
  const type = { "content-type": "application/json" };
  const headers = { authorization: "Bearer " + token, ...type, "idempotency-key": key };
  process.stdout.write("sending\\n");
  const answer = await fetch(url + "/v1/runs", { method: "POST", headers, body });
  process.stdout.write("answered " + answer.status + "\\n");
  await answer.text();
  process.stdout.write("read\\n");
`;

function submitter(key: string, body: string): { child: ChildProcess; said: () => string } {
  const args = ["--input-type=module", "-e", SUBMIT, up.url, up.token, key, body];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "ignore"] });
  let said = "";
  child.stdout?.setEncoding("utf8").on("data", (text) => {
    said += text;
  });
  return { child, said: () => said };
}

/** Sends the beginning of a submission, and then breaks the connection, as a killed process does. */
async function sendPart(key: string, body: string, bytes: number): Promise<void> {
  const { hostname, port } = new URL(up.url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined);
  const head =
    `POST /v1/runs HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${up.token}\r\n` +
    `Content-Type: application/json\r\nIdempotency-Key: ${key}\r\nContent-Length: ${body.length}\r\n\r\n`;
  await new Promise<void>((resolve) => socket.write(head + body.slice(0, bytes), () => resolve()));
  socket.destroy();
}

describe("a client that is killed while it submits, and started again (api.md#idempotency)", () => {
  const one = (label: string) => JSON.stringify({ ...WAITS, labels: { killed: label } });
  const many = (label: string) =>
    JSON.stringify({ runs: Array.from({ length: 40 }, () => ({ ...WAITS, labels: { killed: label } })) });
  const points = [0, 5, 20, 60, 150].map((ms) => ({
    at: `${ms} ms after it began to send`,
    ms,
    text: "sending",
  }));
  const moments = [
    { at: "before it sends", ms: 0, text: "" },
    ...points,
    { at: "before it reads the answer", ms: 0, text: "answered" },
  ];
  const forms = [
    { what: "one run", make: one, count: 1 },
    { what: "a batch", make: many, count: 40 },
  ];

  async function endsWith(key: string, label: string, make: (label: string) => string, count: number) {
    const again = submitter(key, make(label));
    await until("it has been answered", () => again.said().includes("read") || undefined);
    expect(again.said()).toMatch(/answered 20[01]/);
    const { ids } = await idsOfPage(`label=killed:${label}&limit=1000`);
    expect(ids).toHaveLength(count);
  }

  test.each(forms)("$what: killed at any moment, there is exactly what was asked for", async (form) => {
    for (const [index, { ms, text }] of moments.entries()) {
      const label = `${form.count}-${index}`;
      const { child, said } = submitter(`kill-${label}`, form.make(label));
      await until("it has come so far", () => said().includes(text) || undefined);
      await new Promise((resolve) => setTimeout(resolve, ms));
      if (child.pid !== undefined) killIfThere(child.pid);
      await endsWith(`kill-${label}`, label, form.make, form.count);
    }
  });

  test.each(forms)("$what: cut off while the body is sent, nothing is stored, and then all", async (form) => {
    for (const part of [0, 0.5, 0.99]) {
      const label = `part-${form.count}-${part * 100}`;
      const body = form.make(label);
      await sendPart(`cut-${label}`, body, Math.floor(body.length * part));
      expect((await idsOfPage(`label=killed:${label}`)).ids).toEqual([]);
      await endsWith(`cut-${label}`, label, form.make, form.count);
    }
  });
});

test("SIGKILL of the control plane while 100 clients wait: each is answered rightly", async () => {
  const runs = Array.from({ length: CLIENTS }, (_, index) => ({
    id: `kept-${index}`,
    labels: { kept: index % 2 === 0 ? "even" : "odd" },
    ...played(),
    tasks: [
      { name: "main", argv: ["x"], driver: "fake" as const, fake: { runFor: "8s", exitCode: index % 7 } },
    ],
  }));
  await clientOf(up).runs.submitBatch(runs);
  const begun = Array.from({ length: CLIENTS }, (_, index) => {
    const client = clientOf(up);
    if (index % 4 === 0) return client.runs.waitAll({ labels: { kept: "even" }, limit: 1_000 });
    return client.runs.wait(`kept-${index}`);
  });
  await until("some of them run", async () => {
    return (await idsOfPage("label=kept:odd&state=running")).ids.length > 0 || undefined;
  });
  process.kill(-up.pid, "SIGKILL");
  await up.ended;
  up = await startDrover(home);
  const answers: Json[] = await Promise.all(begun);
  for (const [index, answer] of answers.entries()) {
    if (index % 4 === 0) {
      expect(answer.all).toEqual({ holds: true, open: 0, possible: true });
      expect(answer.items).toHaveLength(CLIENTS / 2);
    } else expect(answer).toMatchObject({ id: `kept-${index}`, state: "complete", exitCode: index % 7 });
  }
}, 600_000);
