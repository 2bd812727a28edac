// `npm run bench:redaction`: how fast does the agent read, hash and upload a log with no secret, and with ten
// (redaction.md#needles)? The two ways take turns. Asserts nothing. Defaults: -- --mib 1024 --rounds 5
// --secrets 10.
import { fork } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { needlesOf } from "../agent/core/redaction/needles.ts";
import { Maskers } from "../agent/exec/maskers.ts";
import { AttemptStore } from "../agent/exec/processes/dirs.ts";
import { Streams } from "../agent/exec/streams.ts";
import { ControlPlane } from "../agent/plane/control-plane.ts";
import { shipLog } from "../agent/plane/log-chunks.ts";
import { MAX_LOG_CHUNK_BYTES } from "../src/shared/limits.ts";
import { keyOf } from "../src/signing/mac.ts";
import { percentile } from "./table.ts";

const ID = "bench/main/1.1";
const MIB = 2 ** 20;
const text = (value: string) => ({ type: "string", default: value }) as const;
const { values } = parseArgs({ options: { mib: text("1024"), rounds: text("5"), secrets: text("10") } });
const [mib, rounds] = [Number(values.mib), Number(values.rounds)];

/** The secrets: tokens, passwords in URLs, and as each fifth secret a key of 24 lines. */
const secrets = Array.from({ length: Number(values.secrets) }, (_, n) => {
  const lines = Array.from({ length: 24 }, () => randomBytes(48).toString("base64"));
  if (n % 5 === 0) return Buffer.from(`-----BEGIN KEY-----\n${lines.join("\n")}\n-----END KEY-----\n`);
  if (n % 2 === 0) return Buffer.from(`postgres://app:${randomBytes(12).toString("hex")}@db/main?a=b c`);
  return Buffer.from(randomBytes(30).toString("base64url"));
});

/** A mebibyte of what a build prints, with a secret in one line of a thousand. */
function mebibyteOfLog(round: number): Buffer {
  const lines: string[] = [];
  for (let bytes = 0, n = 0; bytes < MIB; n += 1) {
    const digest = createHash("sha1").update(`${round} ${n}`).digest("base64");
    const secret = n % 1_000 === 999 ? secrets[(n + round) % secrets.length] : undefined;
    const line = `2026-11-24T06:${n % 60}:07.${n}Z [step ${n % 17}] GET /v1/objects/${digest} 200 in ${n} ms`;
    lines.push(secret === undefined ? `${line}\n` : `${line} token=${secret}\n`);
    bytes += lines.at(-1)?.length ?? 0;
  }
  return Buffer.from(lines.join("")).subarray(0, MIB);
}

/** What one upload of the whole log took. */
interface Round {
  wallMs: number;
  cpuMs: number;
}

async function upload(plane: ControlPlane, streams: Streams, url: string): Promise<Round> {
  const cpu = process.cpuUsage();
  const started = performance.now();
  for (let from = 0; from < mib * MIB; from += MAX_LOG_CHUNK_BYTES) {
    const bytes = Math.min(MAX_LOG_CHUNK_BYTES, mib * MIB - from);
    const message = { to: ID, kind: "ship_log", url, id: ID, stream: "stdout", from, bytes } as const;
    const event = await shipLog(plane, message, streams);
    if (event.type !== "chunk_stored") throw new Error(`a chunk was not stored: ${JSON.stringify(event)}`);
  }
  const { user, system } = process.cpuUsage(cpu);
  return { wallMs: performance.now() - started, cpuMs: (user + system) / 1_000 };
}

const load = loadavg().map((one) => one.toFixed(2));
const dir = mkdtempSync(join(tmpdir(), "drover-redaction-"));
const secret = randomBytes(32).toString("base64");
const sink = fork(new URL("./log-sink.ts", import.meta.url), { env: { SINK_SECRET: secret } });
try {
  const [url] = await once(sink, "message");
  const store = new AttemptStore(dir);
  store.claim(ID);
  const file = openSync(store.dirsOf(ID).stdout, "w");
  for (let n = 0; n < mib; n += 1) writeSync(file, mebibyteOfLog(n));
  closeSync(file);
  const around = { tell: () => undefined, now: () => Math.round(performance.now()) };
  const plane = new ControlPlane({ key: keyOf(secret), keyid: "w-1" });
  const ways = [
    { what: "no secret", streams: new Streams(store, new Maskers(() => []), around) },
    {
      what: `${secrets.length} secrets`,
      streams: new Streams(store, new Maskers(() => secrets), around),
    },
  ].map((way) => ({ ...way, took: [] as Round[] }));
  // The first round of each way is left out, because code is compiled in it.
  for (let round = 0; round <= rounds; round += 1) {
    for (const { streams, took } of ways) {
      const one = await upload(plane, streams, `${url}/v1/hosts/w-1/logs`);
      if (round > 0) took.push(one);
    }
  }
  console.log("| | n | MiB/s, p50 | ms of a processor for each MiB, p50 |\n| --- | --- | --- | --- |");
  for (const { what, took } of ways) {
    const wallMs = percentile(
      took.map((one) => one.wallMs),
      0.5,
    );
    const cpuMs = percentile(
      took.map((one) => one.cpuMs),
      0.5,
    );
    const speed = ((mib * 1_000) / wallMs).toFixed(0);
    console.log(`| ${what} | ${took.length} × ${mib} MiB | ${speed} | ${(cpuMs / mib).toFixed(2)} |`);
  }
  const memory = `${Math.round(process.resourceUsage().maxRSS / 1_024)} MiB at most`;
  console.log(`\n${needlesOf(secrets).length} needles; load before ${load.join(" ")}; memory ${memory}`);
} finally {
  sink.disconnect();
  rmSync(dir, { recursive: true, force: true });
}
