// What does `drover provider destroy-all` do? It ends all machines of a pool, without any Drover.

import { setTimeout as sleep } from "node:timers/promises";
import type { Provider } from "../../src/providers/provider.ts";
import type { Instance } from "../../src/schema/provider.ts";
import { TRAITS } from "../../src/shared/cloud/kinds.ts";
import { tagOfPool } from "../../src/shared/cloud/tags.ts";
import type { Millis } from "../../src/shared/machine.ts";
import { clause } from "../../src/shared/words.ts";
import { now } from "../clock.ts";
import { EXIT } from "../errors.ts";
import type { Io } from "../terminal/io.ts";
import { printable, table } from "../terminal/text.ts";
import { callers, readTested } from "./tested.ts";
import { isAlive } from "./transcript.ts";

/** What the command was given. `credentials`: the name of a file, or `-`. */
export interface DestroyOptions {
  file: string;
  credentials: string | undefined;
  yes: boolean;
}

/** The pause between two listings, and after failures. */
const LOOK_MS: Millis = 2_000;
/** How long the command waits for machines that are being destroyed. */
const GIVE_UP_MS: Millis = 10 * 60_000;
/** A machine is gone if so many listings in a row omit it (rule R5). */
const LISTINGS = 2;

/** What a listing has shown. `doubt`: why machines may be missing in it. */
type Seen = { living: Instance[]; doubt?: string } | { failure: string };

/**
 * Lists the machines with the tag of a pool, and with `yes` destroys them until no listing shows any.
 * Resolves with the exit code: 1 if a machine is left, or if that is not known.
 */
export async function destroyAll(io: Io, { file, credentials, yes }: DestroyOptions): Promise<number> {
  const { name, tested } = await readTested(file, credentials);
  const { owner } = callers(tested, now);
  const tag = tagOfPool(name);
  const first = await look(owner, tag);
  if ("failure" in first) {
    await io.say(`The machines of pool ${printable(name)} cannot be listed: ${printable(first.failure)}`);
    return EXIT.no;
  }
  if (!yes) return showAll(io, name, first);
  const until = now() + GIVE_UP_MS;
  const { listConsistencyMs } = TRAITS[tested.config.kind];
  const asked = new Set<string>();
  let quiet = 0;
  for (let seen: Seen = first; ; seen = await look(owner, tag)) {
    quiet = "living" in seen && seen.living.length === 0 && seen.doubt === undefined ? quiet + 1 : 0;
    if (quiet === LISTINGS) break;
    if (now() > until) return giveUp(io, name, seen);
    for (const instance of "living" in seen ? seen.living : []) await destroyOne(io, owner, instance, asked);
    // What was made a moment ago may be missing in a listing.
    await sleep(quiet > 0 ? Math.max(LOOK_MS, listConsistencyMs) : LOOK_MS);
  }
  await io.stdout.write(`Pool ${printable(name)} has no machines at its provider\n`);
  return 0;
}

async function look(provider: Provider, tag: string): Promise<Seen> {
  const answer = await provider.list(tag, []);
  if (answer.kind === "failed") return { failure: clause(answer.failure.text) };
  const living = answer.items.filter(isAlive);
  return answer.partial === undefined ? { living } : { living, doubt: answer.partial.why };
}

/** Asks for the end of one machine. What the provider refuses is asked again after the next listing. */
async function destroyOne(io: Io, provider: Provider, instance: Instance, asked: Set<string>): Promise<void> {
  const { id, name, zone = null, state } = instance;
  if (state === "stopping" && asked.has(id)) return;
  const answer = await provider.destroy({ worker: name, id, zone });
  const what = `${printable(name)} (${printable(id)})`;
  if (answer.kind === "failed")
    await io.say(`${what} is not destroyed yet: ${printable(answer.failure.text)}`);
  else if (!asked.has(id)) await io.say(`Destroying ${what}`);
  if (answer.kind === "asked") asked.add(id);
}

async function showAll(
  io: Io,
  name: string,
  { living, doubt }: Exclude<Seen, { failure: string }>,
): Promise<number> {
  const rows = living.map(({ id, name: worker, instanceType, zone = "", state }) => [
    worker,
    id,
    instanceType,
    zone,
    state,
  ]);
  if (rows.length === 0)
    await io.stdout.write(
      `A listing shows no machines of pool ${printable(name)}; with --yes all are looked for\n`,
    );
  else await io.stdout.write(table(["MACHINE", "ID", "TYPE", "ZONE", "STATE"], rows, Infinity));
  if (doubt !== undefined) await io.say(`There may be more: ${printable(doubt)}`);
  if (rows.length > 0) await io.say("Nothing was destroyed. To destroy them, add --yes");
  return rows.length === 0 && doubt === undefined ? 0 : EXIT.no;
}

async function giveUp(io: Io, name: string, seen: Seen): Promise<number> {
  const left =
    "failure" in seen
      ? `the last listing failed: ${seen.failure}`
      : [...seen.living.map(({ id }) => id), ...(seen.doubt === undefined ? [] : [seen.doubt])].join(", ");
  await io.say(`Pool ${printable(name)} may still have machines: ${printable(left)}`);
  await io.say("Run the command again, or destroy them in the console of the cloud");
  return EXIT.no;
}
