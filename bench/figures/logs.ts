// How many bytes of output a second reach the place where they are kept, beside `cat` over a socket and the
// bare bucket?
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { closeSync, openSync, readSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import type { RunList } from "../../src/schema/run/run.ts";
import { MAX_LOG_CHUNK_BYTES } from "../../src/shared/limits.ts";
import { startBareWorker } from "../contenders/bare.ts";
import { type Drover, endOf } from "../drover.ts";
import { type Row, rowOf } from "../table.ts";

const MEGABYTE = 1_000_000;
const STREAMS = [1, 8];
const BUDGET = "half of the bucket's";

/** A way for some copies of a file, all at once. Resolves when all of their bytes have arrived. */
interface Way {
  name: string;
  budget?: string;
  carry(file: string, copies: number): Promise<void>;
}

/**
 * Measures, in turns, `megabytes` of random bytes as one stream and as eight: through runs of Drover until
 * they have ended, through a socket, and into a bucket that Miniflare plays. State is below `dir`.
 */
export async function measureLogs(
  drover: Drover,
  dir: string,
  rounds: number,
  megabytes: number,
): Promise<Row[]> {
  const bare = await startBareWorker(dir);
  const put = (path: string, body: Uint8Array<ArrayBuffer>) => bare.ask(path, body);
  const ways: Way[] = [
    { name: "Drover", budget: BUDGET, carry: (file, copies) => throughRuns(drover, file, copies) },
    { name: "cat over a socket", carry: throughSockets },
    { name: "the bucket alone", carry: (file, copies) => intoBucket(put, file, copies) },
  ];
  try {
    const rows: Row[] = [];
    for (const streams of STREAMS) {
      const file = join(dir, `output-${streams}`);
      const bytes = Math.floor((megabytes * MEGABYTE) / streams);
      writeFileSync(file, randomBytes(bytes));
      const rates = ways.map(() => [] as number[]);
      for (let round = 0; round < rounds; round += 1) {
        for (const [index, { carry }] of ways.entries()) {
          const beganAt = performance.now();
          await carry(file, streams);
          const seconds = (performance.now() - beganAt) / 1_000;
          rates[index]?.push((bytes * streams) / MEGABYTE / seconds);
        }
      }
      rmSync(file);
      const what = streams === 1 ? "a stream of output" : `${streams} streams of output at once`;
      rows.push(
        ...ways.map(({ name, budget }, index) =>
          rowOf(`${what}, ${name}`, "MB/s", rates[index] ?? [], budget),
        ),
      );
    }
    return rows;
  } finally {
    await bare.stop();
  }
}

/** The last bytes of a run's output are kept before it ends. */
async function throughRuns(drover: Drover, file: string, copies: number): Promise<void> {
  const runs = Array.from({ length: copies }, () => ({ argv: ["cat", file] }));
  const { items } = await drover.call<RunList>("POST", "/v1/runs", { runs });
  await Promise.all(items.map(({ id }) => endOf(drover, id)));
  for (const { id } of items) await drover.call("DELETE", `/v1/runs/${id}`);
}

async function throughSockets(file: string, copies: number): Promise<void> {
  const arrived = Promise.withResolvers<void>();
  let left = copies;
  const sink = createServer((socket) => {
    socket.resume().once("end", () => {
      left -= 1;
      if (left === 0) arrived.resolve();
    });
  });
  sink.listen(0, "127.0.0.1");
  await once(sink, "listening");
  // A server that listens on a port has such an address.
  const { port } = sink.address() as AddressInfo;
  for (let copy = 0; copy < copies; copy += 1) {
    spawn("bash", ["-c", `exec cat "$0" >/dev/tcp/127.0.0.1/${port}`, file], { stdio: "ignore" });
  }
  await arrived.promise;
  sink.close();
}

async function intoBucket(
  put: (path: string, body: Uint8Array<ArrayBuffer>) => Promise<void>,
  file: string,
  copies: number,
): Promise<void> {
  const one = async (copy: number) => {
    const from = openSync(file, "r");
    const chunk = new Uint8Array(MAX_LOG_CHUNK_BYTES);
    for (let n = 0, bytes = readSync(from, chunk); bytes > 0; n += 1, bytes = readSync(from, chunk)) {
      await put(`bucket/${copy}-${n}`, chunk.subarray(0, bytes));
    }
    closeSync(from);
  };
  await Promise.all(Array.from({ length: copies }, (_, copy) => one(copy)));
}
