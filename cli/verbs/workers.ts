// `drover workers`: lists machines, or shows one.

import type { Command } from "commander";
import type { WorkerState, WorkerStatus, WorkerSummary } from "../../client/types.ts";
import { inUse } from "../../src/shared/cloud/in-use.ts";
import { money } from "../../src/shared/cloud/money.ts";
import { engineText } from "../../src/shared/containers/engine-text.ts";
import { WORKER_STATES } from "../../src/shared/run-state.ts";
import { formatSize } from "../../src/shared/size.ts";
import { because } from "../../src/shared/words.ts";
import { connect } from "../context.ts";
import { troublesOf } from "../explain.ts";
import { listText } from "../list.ts";
import { words } from "../options.ts";
import { colorsFor, type Io } from "../terminal/io.ts";
import { workerStateText } from "../terminal/pool-text.ts";
import { asJson, elapsed, fields, printable, table } from "../terminal/text.ts";

interface WorkersFlags {
  pool?: string;
  state?: WorkerState[];
  all?: boolean;
  json?: boolean;
}

const HELP = `
Examples:
  drover workers
  drover workers --state booting --state idle
  drover workers w-3f9a`;

/** The states that are listed by default: after a day of scaling most workers are gone. */
const PRESENT = WORKER_STATES.filter((state) => state !== "gone");

/** `drover workers`: lists machines, or shows one. */
export function addWorkers(program: Command, io: Io): void {
  program
    .command("workers")
    .summary("list machines, or show one")
    .description("Lists the machines of Drover, or shows one, even one that is gone.")
    .argument("[worker]", "the id of one worker")
    .option("--pool <name>", "only workers of this pool")
    .option(
      "--state <state>",
      `only workers in this state (repeatable): ${WORKER_STATES.join(", ")}`,
      words(WORKER_STATES),
    )
    .option("--all", "also the latest workers that are gone")
    .option("--json", "print JSON: a list, or the one worker")
    .addHelpText("after", HELP)
    .action(async (id: string | undefined, flags: WorkersFlags) => {
      const { client } = connect(io);
      if (id !== undefined) {
        const worker = await client.workers.get(id);
        await io.stdout.write(flags.json ? `${asJson(worker)}\n` : view(worker, io, client.now()));
        return;
      }
      const states = flags.state ?? (flags.all === true ? undefined : PRESENT);
      const list = await client.workers.list({ pool: flags.pool, states });
      const isFiltered = flags.pool !== undefined || flags.state !== undefined;
      const empty = isFiltered ? "No machines match." : "No machines.";
      await io.stdout.write(
        flags.json ? `${asJson(list.items)}\n` : listView(list.items, io, client.now(), empty),
      );
      for (const trouble of troublesOf(list.service)) await io.say(trouble);
    });
}

function listView(workers: readonly WorkerSummary[], io: Io, now: number, empty: string): string {
  const headings = ["WORKER", "POOL", "STATE", "TYPE", "RUNS", "AGE", "READY AFTER", "WHY"];
  const rows = workers.map((worker) => [
    worker.id,
    worker.pool,
    worker.idleBehavior === "run"
      ? workerStateText(worker)
      : `${workerStateText(worker)} (${worker.idleBehavior})`,
    worker.instanceType,
    `${worker.runs.length}${worker.kept === undefined ? "" : ` (${worker.kept.length} kept)`}`,
    elapsed(worker.askedAt, now),
    worker.readyAt === null ? "" : elapsed(worker.askedAt, worker.readyAt),
    worker.reason,
  ]);
  return listText(io, headings, rows, empty);
}

function view(worker: WorkerStatus, io: Io, now: number): string {
  const { bold } = colorsFor(io.stdout);
  const { vcpus, memoryBytes, diskBytes, gpus } = worker.resources;
  const top: [string, string][] = [
    ["Worker", worker.id],
    ["State", because(workerStateText(worker), worker.reason)],
    ["New runs", takesRuns(worker)],
    ["Pool", worker.pool],
    ["Type", worker.instanceType],
    ["Price", priceText(worker)],
    ["Instance", worker.instance ?? ""],
    ["Also listed", doublesText(worker)],
    ["Address", worker.address ?? ""],
    [
      "Resources",
      `${vcpus} CPUs, ${formatSize(memoryBytes)} memory, ${formatSize(diskBytes)} disk, ${gpus} GPUs`,
    ],
    ["In use", useText(worker)],
    ["Runs", worker.runs.join(" ")],
    ["Kept", keptLine(worker)],
    ["Idle for", worker.idleSince === null ? "" : elapsed(worker.idleSince, now)],
    ["Last run", lastRunText(worker, now)],
    ["Asked for", `${worker.askedAt} (${elapsed(worker.askedAt, now)} ago)`],
    [
      "Ready",
      worker.readyAt === null ? "" : `${worker.readyAt} (after ${elapsed(worker.askedAt, worker.readyAt)})`,
    ],
    ["Last report", worker.lastReportAt === null ? "" : `${elapsed(worker.lastReportAt, now)} ago`],
    ["Lease until", worker.leaseUntil ?? ""],
    ["Boot probe", probeLine(worker.bootProbe)],
    ["Containers", engineText(worker.engine) ?? ""],
    ["GPU fault", worker.devicesFault ?? ""],
  ];
  const events = worker.events.map(
    ({ at, type, message }) => `  ${at}  ${printable(`${type}: ${message}`)}\n`,
  );
  const boot = (worker.boot ?? []).map(({ at, step, text }) => `  ${at}  ${printable(`${step}: ${text}`)}\n`);
  const part = (name: string, lines: string[]) =>
    lines.length === 0 ? "" : `\n${bold(name)}\n${lines.join("")}`;
  const devices = part("GPUs", deviceLines(worker));
  return fields(top, bold) + devices + part("Boot", boot) + part("Events", events);
}

/** What its runs have reserved; empty if that is unknown. */
function useText(worker: WorkerStatus): string {
  const names = { vCPUs: "CPUs", Memory: "memory", GPUs: "GPUs" };
  return inUse(worker)
    .map(({ name, usedText, ofText }) => `${usedText} of ${ofText} ${names[name]}`)
    .join(", ");
}

/** A line for each GPU: what it is, and who has it. */
function deviceLines({ devices = [] }: WorkerStatus): string[] {
  if (devices.length === 0) return [];
  const rows = devices.map(({ id, vendor, model, memoryBytes, driver, healthy, attempt }) => [
    `  ${id}`,
    vendor,
    model,
    memoryBytes === 0 ? "-" : formatSize(memoryBytes),
    driver || "-",
    attempt ?? (healthy ? "free" : ""),
    healthy ? "" : "cannot be used",
  ]);
  return [
    table(["  ID", "VENDOR", "MODEL", "MEMORY", "DRIVER", "HAS IT", ""], rows, Number.POSITIVE_INFINITY),
  ];
}

/** Further machines with the worker's name; empty if there are none. */
function doublesText({ doubles = [] }: WorkerStatus): string {
  return doubles.length === 0 ? "" : `${doubles.join(" ")} under its name, which also cost money`;
}

/** The failed runs that the machine only keeps, until when, and how to end that; empty if there are none. */
function keptLine({ kept = [] }: WorkerStatus): string {
  return kept.map(({ run, until }) => `${run} until ${until} (drover release ${run} ends it)`).join(", ");
}

/** The run that ended last on this worker, and when; empty if there is none. */
function lastRunText({ lastRun }: WorkerStatus, now: number): string {
  return lastRun === null ? "" : `${lastRun.run}, which ended ${elapsed(lastRun.endedAt, now)} ago`;
}

/** Whether the worker takes runs, and what to do if it does not; empty for a worker that is ending. */
function takesRuns({ id, state, idleBehavior }: WorkerStatus): string {
  if (state === "shutdown" || state === "gone") return "";
  switch (idleBehavior) {
    case "run":
      return "yes; it is ended after it has been idle for a while";
    case "hold":
      return `no, it is held until \`drover resume ${id}\``;
    case "drain":
      return "no, it is ended after its last run";
  }
}

function probeLine(probe: WorkerStatus["bootProbe"]): string {
  if (probe === null) return "";
  const { ok, exitCode, output } = probe;
  const code = ok || typeof exitCode !== "number" ? "" : ` with exit code ${exitCode}`;
  return `${ok ? "succeeded" : "failed"}${code}${output === "" ? "" : `: ${output}`}`;
}

function priceText({ price, prices }: WorkerStatus): string {
  if (price === null) return "unknown";
  return `${money(price)} an hour${prices.length === 0 ? "" : ", as its provider says"}`;
}
