// How the demo shows what each run waited for.

const COLUMNS = ["run", "machine asked", "booted", "placed", "started", "finished", "state", "exit"];

/**
 * One line for each run: how long after its submission each phase came. A run that found a machine ready has
 * no entry for asking and booting. `workers` maps ids to what `drover workers <id> --json` says.
 */
export function phaseTable(runs, workers) {
  const lines = runs.map((run) => {
    const worker = workers.get(run.placements[0]?.worker);
    const since = (instant) => (instant ? seconds(Date.parse(instant) - Date.parse(run.submittedAt)) : "–");
    const asked = worker && Date.parse(worker.askedAt) >= Date.parse(run.submittedAt);
    return [
      run.id,
      asked ? since(worker.askedAt) : "–",
      asked ? since(worker.readyAt) : "–",
      since(run.placedAt),
      since(run.startedAt),
      since(run.finishedAt),
      run.state,
      String(run.exitCode ?? "–"),
    ];
  });
  return aligned([COLUMNS, ...lines]);
}

/**
 * How soon the command of a run was started: what a warm machine makes quicker. How long it then takes is up
 * to the command, and to what else this computer does.
 */
export function startLine({ submittedAt, startedAt }) {
  const ms = Date.parse(startedAt) - Date.parse(submittedAt);
  return `(the command was started ${(ms / 1_000).toFixed(2)} s after it was submitted)`;
}

function seconds(ms) {
  return `+${(ms / 1_000).toFixed(2)} s`;
}

/** The first column to the left, the others to the right. */
function aligned(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const cell = (text, column) => (column === 0 ? text.padEnd(widths[0]) : text.padStart(widths[column]));
  return rows.map((row) => `  ${row.map(cell).join("   ")}`).join("\n");
}
