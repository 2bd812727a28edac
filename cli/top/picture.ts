// What does `drover top` draw of a pool, on a screen of any size?
import type { QueuedRun, RunSummary, WorkerSummary } from "../../client/types.ts";
import { filledCells, type InUse, inUse } from "../../src/shared/cloud/in-use.ts";
import { money } from "../../src/shared/cloud/money.ts";
import { costsText, holdOffText, machinesText, workerStateText } from "../terminal/pool-text.ts";
import { briefDuration, cut, elapsed, printable, table, wrap } from "../terminal/text.ts";
import type { Look } from "./pool-watch.ts";
import { sharesOf, startOf } from "./shares.ts";

/** Where it is drawn. */
export interface Canvas {
  /** Infinite where nothing is to be cut. */
  columns: number;
  rows: number;
  emphasis: Record<"bold" | "inverse" | "red", (text: string) => string>;
}

/** What is drawn besides the pool itself. */
export interface Shown {
  /** The id of the run or the worker that is chosen. */
  chosen?: string | undefined;
  /** Text that takes the place of the lists. */
  detail?: readonly string[] | undefined;
  /** The server's time now, in milliseconds since 1970. */
  now: number;
}

/** Something that is shown in a list. */
interface Item {
  id: string;
  cells: readonly string[];
}

interface List {
  /** The word for what it has, which is the first heading, and the further headings. */
  title: string;
  headings: readonly string[];
  items: readonly Item[];
}

/** The part of the screen that the summary may take. */
const MOST_OF_SUMMARY = 0.4;
/** From this height on, there is an empty line above each list. */
const ROOMY_ROWS = 20;
/** The part of a line that an id may take. */
const MOST_OF_ID = 3;

/** How long the bar is that shows how full a machine is. */
const BAR_CELLS = 4;

/** What somebody must look at, which is red. */
const ALARMING = ["Trouble", "Held off"];

/** The ids in the order in which they are drawn, which is the order of the keys j and k. */
export function idsOf(look: Look): string[] {
  return [...look.running, ...look.pending, ...look.workers].map(({ id }) => id);
}

/**
 * The lines of the picture (cli.md#top): never more than the canvas has rows, and none longer than it has
 * columns. A list that has no room is cut, and its heading says how much of it is shown.
 */
export function picture(look: Look, shown: Shown, canvas: Canvas): string[] {
  const summary = summaryOf(look, shown.now, canvas);
  const left = canvas.rows - summary.length;
  if (shown.detail !== undefined) return [...summary, ...detailLines(shown.detail, left, canvas)];
  const lists = listsOf(look, shown.now).filter(({ items }) => items.length > 0);
  const hint = hintLines(look, canvas.columns).slice(0, left);
  return [...summary, ...hint, ...listLines(lists, shown, { ...canvas, rows: left - hint.length })];
}

/** What to type if there are no runs. */
function hintLines({ pool: { name }, running, pending }: Look, columns: number): string[] {
  if (running.length + pending.length > 0) return [];
  const flag = name === "default" ? "" : `--pool ${name} `;
  return ["", cut(`No runs. To submit one: drover run ${flag}-- uname -a`, columns)];
}

function summaryOf(look: Look, now: number, { columns, rows, emphasis }: Canvas): string[] {
  const { pool } = look;
  const troubles = pool.cloudError === null ? [] : [pool.cloudError];
  const all: [string, string][] = [
    ["Pool", `${pool.name}: ${pool.runs.running} running, ${pool.runs.pending} pending`],
    ["Queue", queueText(look, now)],
    ...troubles.map((text): [string, string] => ["Trouble", text]),
    ...pool.holdOffs.map((hold): [string, string] => ["Held off", holdOffText(hold)]),
    ["Machines", `${machinesText(pool)}; at most ${pool.config.maxInstances}`],
    ["Costs", costsText(pool)],
  ];
  const pairs = all.filter(([, text]) => text !== "");
  const most = Math.min(rows, Math.max(1, Math.floor(rows * MOST_OF_SUMMARY)));
  const width = Math.max(...pairs.map(([name]) => name.length));
  return pairs.slice(0, most).map(([name, text]) => {
    const [label, value] = [name.padEnd(width), printable(text)];
    if (columns <= width) return cut(label, columns);
    const draw = ALARMING.includes(name) ? emphasis.red : emphasis.bold;
    return `${draw(label)}${cut(`  ${value}`, columns - width)}`;
  });
}

/** How many runs wait for a place, and how long and why the oldest of them waits. */
function queueText({ pool, queue, at }: Look, now: number): string {
  const { depth, oldestAgeMs } = pool.queue;
  if (depth === 0 || oldestAgeMs === null) return "nobody waits for a place";
  const age = briefDuration(oldestAgeMs + now - at);
  const [oldest] = [...queue.values()].sort((a, b) => b.ageMs - a.ageMs);
  // An older one may stand behind those whose reasons were read.
  const why = oldest === undefined || queue.size < depth ? "" : `: ${reasonText(oldest)}`;
  return `${depth} without a place, the oldest for ${age}${why}`;
}

/** The code comes first: on a narrow screen it is all that is left. */
function reasonText({ reason }: QueuedRun): string {
  return `${reason.code}: ${reason.text}`;
}

function listsOf({ running, pending, workers, queue }: Look, now: number): List[] {
  const hasGpus = workers.some(({ resources }) => resources.gpus > 0);
  return [
    {
      title: "RUNNING",
      headings: ["FOR", "WORKER", "COMMAND"],
      items: running.map((run) => ({
        id: run.id,
        cells: [elapsed(run.startedAt, now), run.worker ?? "", run.command],
      })),
    },
    {
      title: "PENDING",
      headings: ["AGE", "PLACE", "WHY"],
      items: pending.map((run) => ({
        id: run.id,
        cells: [elapsed(run.submittedAt, now), ...waitCells(run, queue.get(run.id))],
      })),
    },
    {
      title: "WORKERS",
      headings: ["STATE", "RUNS", "CPUS", "MEMORY", ...(hasGpus ? ["GPUS"] : []), "PRICE", "AGE", "WHY"],
      items: workers.map((worker) => ({ id: worker.id, cells: workerCells(worker, hasGpus, now) })),
    },
  ];
}

/** The place of a run in the queue, and why it waits. */
function waitCells({ worker }: RunSummary, queued: QueuedRun | undefined): [string, string] {
  if (worker !== null) return ["", `placed on ${worker}`];
  return queued === undefined ? ["", ""] : [String(queued.position), reasonText(queued)];
}

/** `hasGpus`: some machine of the pool has GPUs, so there is a column for them. */
function workerCells(worker: WorkerSummary, hasGpus: boolean, now: number): string[] {
  const { idleBehavior, price, runs, askedAt, reason } = worker;
  const state = workerStateText(worker);
  const [cpus, memory, gpus] = inUse(worker);
  return [
    idleBehavior === "run" ? state : `${state} (${idleBehavior})`,
    String(runs.length),
    useCell(cpus),
    useCell(memory),
    ...(hasGpus ? [useCell(gpus)] : []),
    price === null ? "unknown" : money(price),
    elapsed(askedAt, now),
    reason,
  ];
}

/** How full a machine is, as a bar and in numbers; empty if that is unknown. */
function useCell(part: InUse | undefined): string {
  if (part === undefined) return "";
  const filled = filledCells(part, BAR_CELLS);
  return `${"█".repeat(filled)}${"░".repeat(BAR_CELLS - filled)} ${part.usedText}/${part.ofText}`;
}

function listLines(lists: readonly List[], { chosen }: Shown, canvas: Canvas): string[] {
  const gap = canvas.rows >= ROOMY_ROWS ? 1 : 0;
  // The list with what is chosen is the last one that goes without lines.
  const first = lists.findIndex(({ items }) => items.some(({ id }) => id === chosen));
  const order = lists.map((_, at) => at).sort((a, b) => Number(b === first) - Number(a === first));
  const wants = order.map((at) => (lists[at]?.items.length ?? 0) + 1 + gap);
  const shares = sharesOf(canvas.rows, wants);
  return lists.flatMap((list, at) => {
    const lines = shares[order.indexOf(at)] ?? 0;
    return lines <= gap ? [] : linesOf(list, lines - gap, gap, { chosen, canvas });
  });
}

/** A list with its heading, in so many lines, below an empty one if there is a gap. */
function linesOf(
  { title, headings, items }: List,
  lines: number,
  gap: number,
  { chosen, canvas }: { chosen: string | undefined; canvas: Canvas },
): string[] {
  const { columns, emphasis } = canvas;
  const room = lines - 1;
  const at = items.findIndex(({ id }) => id === chosen);
  const start = startOf(at, room);
  const part = items.slice(start, start + room);
  const count = part.length < items.length ? `${part.length} of ${items.length}` : `${items.length}`;
  const widest = Math.max(8, Math.floor(columns / MOST_OF_ID));
  const rows = part.map(({ id, cells }) => [`${id === chosen ? ">" : " "} ${cut(id, widest)}`, ...cells]);
  const text = table([`${title} (${count})`, ...headings], rows, columns);
  const [heading = "", ...rest] = text.trimEnd().split("\n");
  const drawn = rest.map((line, row) => (part[row]?.id === chosen ? emphasis.inverse(line) : line));
  return [...(gap > 0 ? [""] : []), emphasis.bold(heading), ...drawn];
}

function detailLines(detail: readonly string[], rows: number, { columns }: Canvas): string[] {
  const lines = detail.flatMap((line) => wrap(printable(line), columns));
  return lines.length <= rows ? lines : [...lines.slice(0, Math.max(0, rows - 1)), "…"].slice(0, rows);
}
