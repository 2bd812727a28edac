// What does a Drover have that belongs into a backup (backup.md#archive)?
import type { Client } from "../../client/client.ts";
import type { Head, Line } from "./format.ts";
import { FORMAT } from "./format.ts";

/** The most items that one request asks for. */
const PAGE = 1_000;

/** The first line of a backup of this Drover. */
export async function headFor(client: Client, url: string): Promise<Head> {
  const { version } = await client.deployment.get();
  return { drover: "backup", format: FORMAT, version, url, madeAt: new Date(client.now()).toISOString() };
}

/** The lines of a backup, in an order in which they can be restored. */
export async function* linesOf(client: Client, withHistory: boolean): AsyncGenerator<Line> {
  const projects = await client.projects.list();
  for (const { name, createdAt } of projects.items) if (createdAt !== null) yield { kind: "project", name };
  const { tokens, trustRules } = await client.deployment.backup();
  for (const token of tokens) yield { kind: "token", ...token };
  for (const rule of trustRules) yield { kind: "trust_rule", ...rule };
  const secrets = await client.secrets.list();
  for (const { name, project, use } of secrets.items) yield { kind: "secret", name, project, use };
  const pools = await client.pools.list();
  for (const { name, config } of pools.items) yield { kind: "pool", name, config };
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
    const page = await client.runs.list({ states: ["done"], limit: PAGE, cursor });
    for (const run of page.items) yield { kind: "run", run };
    if (page.next === null) break;
    cursor = page.next;
  }
  for (let cursor: string | undefined; ; ) {
    const page = await client.audit.list({ limit: PAGE, cursor });
    for (const entry of page.items) yield { kind: "audit", entry };
    if (page.next === null) return;
    cursor = page.next;
  }
}
