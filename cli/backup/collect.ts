// What does a Drover have that belongs into a backup (backup.md#archive)?
import type { Client } from "../../client/client.ts";
import { CliError } from "../errors.ts";
import type { Head, Line } from "./format.ts";
import { FORMAT } from "./format.ts";
import { type PartialAnswer, silentPool } from "./whole.ts";

/** The most items that one request asks for. */
const PAGE = 1_000;

/** The first line of a backup of this Drover. */
export async function headFor(client: Client, url: string): Promise<Head> {
  const { version } = await client.deployment.get();
  return { drover: "backup", format: FORMAT, version, url, madeAt: new Date(client.now()).toISOString() };
}

/** When a backup was made, as a part of the name of a file. */
export function timeInName({ madeAt }: Head): string {
  return madeAt.replaceAll(/[-:]|\.\d+/g, "");
}

/** The lines of a backup, in an order in which they can be restored. */
export async function* linesOf(client: Client, withHistory: boolean): AsyncGenerator<Line> {
  const projects = await client.projects.list();
  for (const { name, createdAt } of projects.items) if (createdAt !== null) yield { kind: "project", name };
  const { tokens, trustRules, poolSecrets } = await client.deployment.backup();
  for (const token of tokens) yield { kind: "token", ...token };
  for (const rule of trustRules) yield { kind: "trust_rule", ...rule };
  const secrets = await client.secrets.list();
  for (const { name, project, use } of secrets.items) yield { kind: "secret", name, project, use };
  const pools = whole(await client.pools.list());
  for (const { name, config } of pools.items) {
    const secret = poolSecrets.find(({ pool }) => pool === name);
    yield { kind: "pool", name, config, ...(secret === undefined ? {} : { secretProject: secret.project }) };
  }
  const webhooks = await client.webhooks.list();
  for (const { name, project, url, types, pools: only, labels } of webhooks.items) {
    const filter = only === null ? {} : { pools: only };
    yield { kind: "webhook", name, project, url, types, labels, ...filter };
  }
  if (withHistory) yield* historyOf(client);
}

/** Ended runs, and the audit log, newest first: for people. Nothing of it is restored. */
async function* historyOf(client: Client): AsyncGenerator<Line> {
  for (let cursor: string | undefined; ; ) {
    const page = whole(await client.runs.list({ states: ["done"], limit: PAGE, cursor }));
    for (const run of page.items) yield { kind: "run", run };
    if (page.next === null) break;
    cursor = page.next;
  }
  for (let cursor: string | undefined; ; ) {
    const page = whole(await client.audit.list({ limit: PAGE, cursor }));
    for (const entry of page.items) yield { kind: "audit", entry };
    if (page.next === null) return;
    cursor = page.next;
  }
}

/** An answer for which every pool was asked. Throws a `CliError` if one has not answered. */
function whole<Of extends PartialAnswer>(answer: Of): Of {
  const silent = silentPool(answer);
  if (silent === undefined) return answer;
  throw new CliError(`A backup would not be whole: ${silent}`, [
    "No backup was made, since the pool and its runs would be missing in it. Try again later.",
  ]);
}
