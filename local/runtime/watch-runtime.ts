import type { Client } from "../../client/client.ts";
import { countText } from "../end-runs.ts";

/** The control plane answers in that time, or what it knows is not told. */
const ANSWER_WITHIN_MS = 60_000;

/** How a process has ended, in words: "was killed by SIGKILL". */
export function endText(code: number | null, signal: string | null): string {
  if (signal !== null) return `was killed by ${signal}`;
  return code === null ? "has ended" : `has ended with exit code ${code}`;
}

/**
 * Tells in one line that workerd has ended, and in another that it runs again, and what the control plane
 * says of the runs. Returns what is to be called at each end of workerd. Nobody is asked once `ended`.
 */
export function tellOfRuntime(
  client: Client,
  tell: (text: string) => void,
  ended: AbortSignal,
): (how: string) => void {
  let isDown = false;
  return (how) => {
    if (isDown) return;
    isDown = true;
    tell(`the control plane (workerd) ${how}, and is started again. What runs on machines goes on.`);
    void runsText(client, ended).then((runs) => {
      isDown = false;
      if (runs !== undefined) tell(`the control plane is running again${runs}.`);
    });
  };
}

/** What runs and what waits, as far as it is known; undefined: the control plane does not answer. */
async function runsText(client: Client, signal: AbortSignal): Promise<string | undefined> {
  const patience = { unreachableMs: ANSWER_WITHIN_MS };
  const pools = await client.pools.list({ patience, signal }).catch(() => undefined);
  if (pools === undefined) return undefined;
  const sum = (state: "running" | "pending") =>
    pools.items.reduce((count, { runs }) => count + runs[state], 0);
  return `: ${countText(sum("running"))} running, ${sum("pending")} waiting`;
}

/** Tells in one line that a machine has ended by itself, and which runs were on it. */
export async function tellOfMachine(
  client: Client,
  machine: { id: string; name: string; how: string },
  tell: (text: string) => void,
): Promise<void> {
  const workers = await client.workers.list().catch(() => undefined);
  const runs = workers?.items.find(({ instance }) => instance === machine.id)?.runs ?? [];
  const lost = runs.length === 0 ? "" : ` with ${countText(runs.length)} on it (${runs.join(", ")})`;
  tell(`machine ${machine.name} ${machine.how}${lost}. Another one is made when runs wait for it.`);
}
