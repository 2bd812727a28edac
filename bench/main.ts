// `npm run bench`: what a user waits for, and what one machine can do (budgets.md#budgets). Asserts nothing;
// its output goes into docs/design/budgets.md with the machine it ran on.
// Defaults: -- --runs 300 --keys 300 --users 16 --trivial 500 --hosts 1000.
import { availableParallelism, cpus, loadavg, totalmem } from "node:os";
import { parseArgs } from "node:util";
import { endOf, startDrover } from "./drover.ts";
import { measureHosts } from "./figures/hosts.ts";
import { measureKeystrokes } from "./figures/keystrokes.ts";
import { measureLatency } from "./figures/latency.ts";
import { measurePlanning } from "./figures/planning.ts";
import { measureThroughput } from "./figures/throughput.ts";
import { tableOf } from "./table.ts";

const text = (value: string) => ({ type: "string", default: value }) as const;
const { values } = parseArgs({
  options: {
    runs: text("300"),
    keys: text("300"),
    users: text("16"),
    trivial: text("500"),
    hosts: text("1000"),
  },
});

const load = loadavg().map((one) => one.toFixed(2));
const planning = measurePlanning();
const drover = await startDrover();
try {
  // The first run waits for a machine to boot, the next few for code to be compiled.
  for (let n = 0; n < 5; n += 1) {
    const { id } = await drover.call<{ id: string }>("POST", "/v1/runs", { argv: ["true"] });
    await endOf(drover, id);
  }
  const rows = [...planning, ...(await measureLatency(drover, Number(values.runs)))];
  rows.push(...(await measureKeystrokes(drover, Number(values.keys))));
  rows.push(...(await measureThroughput(drover, Number(values.users), Number(values.trivial))));
  rows.push(...(await measureHosts(drover, Number(values.hosts))));
  console.log(tableOf(rows));
  const memory = `${(totalmem() / 2 ** 30).toFixed(0)} GiB`;
  const machine = `${availableParallelism()} × ${cpus()[0]?.model ?? "unknown processor"}, ${memory}`;
  console.log(
    `\n${machine}; Node ${process.versions.node}; load before ${load.join(" ")}; state in ${drover.dir}`,
  );
} finally {
  await drover.stop();
}
