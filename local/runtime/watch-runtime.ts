// What does `drover up` print when workerd or a machine has died?
import type { Client } from "../../client/client.ts";
import { countText } from "../end-runs.ts";

/** How long to wait for the control plane's answer. Without an answer, nothing is printed about runs. */
const ANSWER_WITHIN_MS = 60_000;

/** How a process ended, in words: "was killed by SIGKILL". */
export function endText(code: number | null, signal: string | null): string {
  if (signal !== null) return `was killed by ${signal}`;
  return code === null ? "has ended" : `has ended with exit code ${code}`;
}

/**
 * Returns a function to call at each end of workerd. The function prints one line at once. When the control
 * plane answers again, it prints another line with the numbers of runs. `ended` aborts the wait for that
 * answer.
 */
export function runtimeReporter(
  client: Client,
  print: (text: string) => void,
  ended: AbortSignal,
): (how: string) => void {
  let isDown = false;
  return (how) => {
    if (isDown) return;
    isDown = true;
    print(`the control plane (workerd) ${how}, and is being restarted. Running commands continue.`);
    void runsText(client, ended).then((runs) => {
      isDown = false;
      if (runs !== undefined) print(`the control plane is running again${runs}.`);
    });
  };
}

/** The numbers of running and waiting runs, in words; undefined if the control plane does not answer. */
async function runsText(client: Client, signal: AbortSignal): Promise<string | undefined> {
  const patience = { unreachableMs: ANSWER_WITHIN_MS };
  const pools = await client.pools.list({ patience, signal }).catch(() => undefined);
  if (pools === undefined) return undefined;
  const sum = (state: "running" | "pending") =>
    pools.items.reduce((count, { runs }) => count + runs[state], 0);
  return `: ${countText(sum("running"))} running, ${sum("pending")} waiting`;
}

/** Prints that a machine has ended by itself, and which runs were on it. */
export async function reportMachineDeath(
  client: Client,
  machine: { id: string; name: string; how: string },
  print: (text: string) => void,
): Promise<void> {
  const workers = await client.workers.list().catch(() => undefined);
  const runs = workers?.items.find(({ instance }) => instance === machine.id)?.runs ?? [];
  const lost = runs.length === 0 ? "" : ` with ${countText(runs.length)} on it (${runs.join(", ")})`;
  print(`machine ${machine.name} ${machine.how}${lost}. Another one is created when runs wait for it.`);
}
