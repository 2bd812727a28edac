// How does `drover run` submit many runs at once, and stay with them until the last has ended?
import type { Client } from "../../client/client.ts";
import { listenForInterrupts } from "../terminal/interrupts.ts";
import type { Io } from "../terminal/io.ts";
import { asJson, counted } from "../terminal/text.ts";
import { type Attending, submitPatiently } from "./attended.ts";
import { endsOf, showEnds } from "./ends.ts";
import { PATIENCE } from "./patience.ts";
import type { NamedSpec } from "./spec.ts";

/** More ids than this make no line that somebody would copy. */
const MOST_NAMED = 8;

/**
 * Submits runs in one request, and waits for all of them unless they are to be left. Resolves with one exit
 * code. The first interrupt aborts all runs, and the second stops waiting; Ctrl-\ leaves them.
 */
export async function submittedMany(
  io: Io,
  client: Client,
  runs: readonly NamedSpec[],
  how: Attending,
): Promise<number> {
  const ids = runs.map(({ id }) => id);
  if (how.detach === true) {
    const made = await submit(client, runs, how);
    await io.stdout.write(how.json ? `${asJson(made)}\n` : ids.map((id) => `${id}\n`).join(""));
    if (how.quiet !== true) await io.say(`${counted(ids.length, "run")} submitted. ${waitAgain(runs)}`);
    return 0;
  }
  const interrupts = listenForInterrupts();
  const leaving = new AbortController();
  const accepted = submit(client, runs, how, leaving.signal);
  let abortedAs: number | undefined;
  const interrupted = interrupts.first.then(async ({ signal, exitCode }) => {
    abortedAs = exitCode;
    await io.say("Aborting all runs and waiting for them to end. Press Ctrl-C again to stop waiting.");
    await accepted;
    const reason = `${signal} to drover run`;
    await client.runs.abortMany({ ids, reason }, { signal: leaving.signal, patience: PATIENCE });
  });
  const left = Promise.race([interrupts.second, interrupts.detach.then((it) => accepted.then(() => it))]);
  const toTheEnd = async () => {
    await accepted;
    const ended = (await endsOf(io, client, { ids }, { quiet: how.quiet, signal: leaving.signal })) ?? [];
    const exitCode = await showEnds(io, client, ended, { json: how.json });
    return abortedAs ?? exitCode;
  };
  try {
    return await Promise.race([
      toTheEnd(),
      interrupted.then(() => new Promise<never>(() => {})),
      left.then(async ({ exitCode }) => {
        await io.say(`The runs that have not ended may go on. ${waitAgain(runs)}`);
        return exitCode;
      }),
    ]);
  } finally {
    leaving.abort();
  }
}

function submit(client: Client, runs: readonly NamedSpec[], how: Attending, signal?: AbortSignal) {
  return submitPatiently((options) => client.runs.submitBatch(runs, { signal, ...options })).catch(
    (error) => {
      throw how.refusal(error);
    },
  );
}

/** How to come back to these runs. */
function waitAgain(runs: readonly NamedSpec[]): string {
  const array = runs[0]?.array?.id;
  if (array !== undefined) return `To wait for them: drover wait --array ${array}`;
  return runs.length > MOST_NAMED
    ? "To see them: drover ps"
    : `To wait for them: drover wait ${runs.map(({ id }) => id).join(" ")}`;
}
