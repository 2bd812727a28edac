// Which names does Drover know now, quickly and without a word about what fails?
import { LOCAL } from "../config/config.ts";
import { readConfig } from "../config/config-file.ts";
import { connect } from "../context.ts";
import type { Io } from "../terminal/io.ts";
import type { Named } from "./kinds.ts";
import type { Candidate } from "./slot.ts";

/** A person waits for the answer with a finger on the key. */
const ANSWER_WITHIN_MS = 1_500;
/** As many runs as somebody would look through, the newest first. */
const MOST_RUNS = 100;

/** The names of these things (cli.md#completion). What cannot be read in time is left out. */
export async function namesOf(io: Io, named: readonly Named[]): Promise<Candidate[]> {
  const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
  const all = await Promise.all(named.map((what) => read(io, what, signal).catch(() => [])));
  return all.flat();
}

async function read(io: Io, what: Named, signal: AbortSignal): Promise<Candidate[]> {
  if (what === "contexts") return contexts(io);
  const { client } = connect(io);
  const call = { signal, patience: { unreachableMs: 0, busyMs: 0 } };
  switch (what) {
    case "runs": {
      const { items } = await client.runs.list({ states: ["all"], limit: MOST_RUNS }, call);
      return items.map(({ id, state, command }) => ({ value: id, about: `${state}: ${command}` }));
    }
    case "workers": {
      const { items } = await client.workers.list({}, call);
      return items.map(({ id, state, pool }) => ({ value: id, about: `${state}, in ${pool}` }));
    }
    case "pools":
      return named((await client.pools.list(call)).items, ({ name }) => name);
    case "projects":
      return named((await client.projects.list(call)).items, ({ name }) => name);
    case "secrets":
      return named((await client.secrets.list(call)).items, ({ name }) => name);
    case "webhooks":
      return named((await client.webhooks.list(call)).items, ({ name }) => name);
    case "jobs": {
      const { items } = await client.jobs.list(call);
      return items.map(({ name, description }) => ({ value: name, about: description }));
    }
    case "tokens":
      return named((await client.tokens.list(call)).items, ({ name }) => name);
  }
}

function named<Item>(items: readonly Item[], nameOf: (item: Item) => string): Candidate[] {
  return items.map((item) => ({ value: nameOf(item), about: "" }));
}

function contexts(io: Io): Candidate[] {
  const { contexts: stored } = readConfig(io);
  const others = Object.entries(stored).filter(([name]) => name !== LOCAL);
  return [
    { value: LOCAL, about: "the Drover of drover up" },
    ...others.map(([value, { url = "" }]) => ({ value, about: url })),
  ];
}
