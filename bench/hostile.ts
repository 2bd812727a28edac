// `npm run bench:hostile`: how soon does a run of another pool start while one host sends the most expensive
// reports at full speed (docs/design/reports.md)? Default: -- --seconds 60. Asserts nothing.
import { once } from "node:events";
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { type Drover, endOf, startDrover } from "./drover.ts";
import { measureLatencyFor } from "./figures/latency.ts";
import { residentBytes } from "./memory.ts";
import { tableOf } from "./table.ts";

const POOL = {
  provider: { kind: "http", url: "http://127.0.0.1:9", secret: "none" },
  instanceTypes: { none: { vcpus: 1, memory: "1GiB" } },
  maxInstances: 0,
};
const { values } = parseArgs({ options: { seconds: { type: "string", default: "60" } } });
const forMs = Number(values.seconds) * 1_000;

const load = loadavg().map((one) => one.toFixed(2));
const drover = await startDrover();
try {
  for (let n = 0; n < 5; n += 1) {
    const { id } = await drover.call<{ id: string }>("POST", "/v1/runs", { argv: ["true"] });
    await endOf(drover, id);
  }
  const before = await measureLatencyFor(drover, forMs / 4);
  const memoryBefore = residentBytes(drover.pid);
  const liar = await startLiar(drover);
  const during = await measureLatencyFor(drover, forMs);
  const memoryDuring = residentBytes(drover.pid);
  const answered = once(liar, "message");
  liar.postMessage("end");
  const [counts] = await answered;
  console.log(`alone:\n${tableOf(before)}\n\nbeside a host that lies:\n${tableOf(during)}`);
  const mib = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MiB`;
  console.log(
    `\nreports accepted ${counts.accepted}, refused ${counts.refused}; load before ${load.join(" ")}`,
  );
  console.log(`memory of drover up and its children: ${mib(memoryBefore)}, then ${mib(memoryDuring)}`);
} finally {
  await drover.stop();
}

async function startLiar(drover: Drover): Promise<Worker> {
  await drover.call("PUT", "/v1/pools/hostile", POOL);
  const { code } = await drover.call<{ code: string }>("POST", "/v1/enrollments", { pool: "hostile" });
  return new Worker(new URL("./lying-host.ts", import.meta.url), { workerData: { url: drover.url, code } });
}
