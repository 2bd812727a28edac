// `drover status`: shows one run with its tasks, attempts and latest events.

import type { Command } from "commander";
import type { RunStatus } from "../../client/types.ts";
import { money } from "../../src/shared/cloud/money.ts";
import { imagesOf } from "../../src/shared/containers/images.ts";
import { quoteArgv } from "../../src/shared/shell-words.ts";
import { because } from "../../src/shared/words.ts";
import { connect } from "../context.ts";
import { keptText } from "../run/keep.ts";
import { afterShown } from "../run/many/after.ts";
import { triesFields, triesView } from "../run/retry/tries-text.ts";
import { concurrencyText } from "../run/start/concurrency.ts";
import { RUN_TEXT, withRun } from "../run/which-run.ts";
import { colorsFor, type Io } from "../terminal/io.ts";
import { adviceLine, peaksText } from "../terminal/peaks.ts";
import { asJson, elapsed, fields, printable } from "../terminal/text.ts";

const HELP = `
Examples:
  drover status build-17
  drover status --json build-17 | jq .exitCode`;

/** `drover status`: shows one run. */
export function addStatus(program: Command, io: Io): void {
  program
    .command("status")
    .summary("show one run")
    .description("Shows one run: its state, times, placements and latest events.")
    .argument("<run>", RUN_TEXT)
    .option("--json", "print the status as JSON")
    .addHelpText("after", HELP)
    .action(async (text: string, flags: { json?: boolean }) => {
      const { client } = connect(io);
      const status = await withRun({ io, client }, text, (id) => client.runs.get(id));
      const shown = flags.json ? `${asJson(status)}\n` : view(status, io, client.now());
      await io.stdout.write(shown);
    });
}

function view(run: RunStatus, io: Io, now: number): string {
  const labels = Object.entries(run.labels).map(([name, value]) => `${name}=${value}`);
  const top: [string, string][] = [
    ["Run", run.id],
    ["State", stateLine(run)],
    ["Health", run.health ?? ""],
    ["Why", run.failure === null ? "" : `${run.failure.text} (${run.failure.code})`],
    ...triesFields(run),
    ["Aborted", run.abort === null ? "" : because(`by ${run.abort.by}`, run.abort.reason)],
    ["Command", quoteArgv(run.spec.argv ?? [])],
    ["Image", imagesOf(run.spec).join(", ")],
    ["Repeats", run.spec.rerunOf ?? ""],
    ["After", run.spec.after?.map(afterShown).join(", ") ?? ""],
    ["Concurrency", concurrencyText(run.spec)],
    ["Snapshot", run.spec.snapshot ?? ""],
    ["Directory", run.spec.dir ?? ""],
    ["Labels", labels.join(" ")],
    ["Pool", run.pool],
    ["Worker", run.placements.at(-1)?.worker ?? ""],
    ["Submitted", `${run.submittedAt} (${elapsed(run.submittedAt, now)} ago)`],
    ["Placed", after(run.placedAt, run.submittedAt)],
    ["Started", after(run.startedAt, run.placedAt ?? run.submittedAt)],
    ["Finished", after(run.finishedAt, run.startedAt ?? run.submittedAt)],
    ["Cost", costLine(run)],
    ["Size", adviceLine(run) ?? ""],
    ["Kept", keptText(run, now)],
    ["Result", run.snapshot ? `${run.snapshot} (drover pull ${run.id})` : ""],
  ];
  const { bold } = colorsFor(io.stdout);
  return fields(top, bold) + triesView(run, io) + tasksView(run, bold);
}

/** The cost of a run; empty while it has no placement. An unknown price is named, not counted as zero. */
function costLine({ cost, placements }: RunStatus): string {
  if (cost === undefined || placements.length === 0) return "";
  const { amount, unpriced } = cost;
  if (amount === null) return "unknown: its machine has no price";
  return `${money(amount)}${unpriced === 0 ? "" : ` and ${unpriced} of its placements, of unknown price`}`;
}

function tasksView(run: RunStatus, bold: (text: string) => string): string {
  let text = "";
  for (const task of run.tasks) {
    text += `\n${bold(`Task ${printable(task.name)}`)}: ${phaseOf(task)}\n`;
    for (const attempt of task.attempts) {
      text += printable(`  attempt ${attempt.id}: ${attempt.state} ${exitText(attempt.exit)}`).trimEnd();
      const used = peaksText(attempt.peaks);
      text += used === "" ? "\n" : `\n    ${used}\n`;
      if (attempt.image !== undefined) text += `    image: ${printable(attempt.image)}\n`;
      if (attempt.doing !== undefined) text += `    ${printable(attempt.doing)}\n`;
      if (attempt.devices !== undefined) text += `    GPUs: ${printable(attempt.devices.join(" "))}\n`;
    }
    for (const check of task.checks ?? []) text += checkLine(check);
    for (const event of task.events) {
      text += `  ${event.at}  ${printable(event.type)}: ${printable(event.message)}\n`;
    }
  }
  return text;
}

/** One check: its status, since when, and what its latest failure said. */
function checkLine({
  name,
  status,
  since,
  output,
}: NonNullable<RunStatus["tasks"][number]["checks"]>[number]) {
  const from = since === null ? "" : ` since ${since}`;
  const said = output === undefined ? "" : `: ${printable(output.replaceAll(/\s+/g, " "))}`;
  return `  check ${name}: ${status}${from}${said}\n`;
}

/** Puts the phase into words for people, who would take "dead" for a failure. */
function phaseOf({ phase, failed }: RunStatus["tasks"][number]): string {
  if (phase === "dead") return failed ? "failed" : "ended";
  return phase === "backoff" ? "waiting to be restarted" : phase;
}

function stateLine(run: RunStatus): string {
  if (run.signal !== null) return `${run.state}, ended by ${run.signal} (exit code ${run.exitCode})`;
  return run.exitCode === null ? run.state : `${run.state}, exit code ${run.exitCode}`;
}

function exitText(exit: RunStatus["tasks"][number]["attempts"][number]["exit"]): string {
  if (exit === null) return "";
  const how = exit.signal === null ? `with exit code ${exit.code}` : `by ${exit.signal}`;
  return `${how}${exit.oomKilled ? ", out of memory" : ""}${exit.message === "" ? "" : `: ${exit.message}`}`;
}

function after(at: string | null, since: string): string {
  return at === null ? "" : `${at} (after ${elapsed(since, at)})`;
}
