// How long did each phase of a run take?

const COLUMNS = ["run", "machine asked", "booted", "placed", "started", "finished", "state", "exit"];

/**
 * A table with a line for each run, and the time from its submission to each phase. A run that found a ready
 * machine has no times for its creation. `workers` maps ids to the output of `drover workers <id> --json`.
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

/** A line with the time from submission to the start of the command. It is shorter on a warm machine. */
export function startLine({ submittedAt, startedAt }) {
  const ms = Date.parse(startedAt) - Date.parse(submittedAt);
  return `(the command started ${(ms / 1_000).toFixed(2)} s after it was submitted)`;
}

function seconds(ms) {
  return `+${(ms / 1_000).toFixed(2)} s`;
}

/** Aligns the first column to the left, and the others to the right. */
function aligned(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const cell = (text, column) => (column === 0 ? text.padEnd(widths[0]) : text.padStart(widths[column]));
  return rows.map((row) => `  ${row.map(cell).join("   ")}`).join("\n");
}
