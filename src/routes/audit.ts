// The route of the audit log: a list, and what came since (audit.md#reading).
import { z } from "zod";
import type { AuditFilter, Objects } from "../objects/rpc.ts";
import { AuditActionFilter, type AuditEntry, AuditList } from "../schema/access/audit.ts";
import { InstantInput, Name, Wait } from "../schema/common.ts";
import { AUDIT_ACTIONS } from "../shared/access/audit-actions.ts";
import { RUN_ID } from "../shared/attempt-id.ts";
import type { Caller } from "./access/caller.ts";
import type { EdgeApp, EdgeTypes } from "./edge.ts";
import { invalid } from "./http/invalid.ts";
import { operation } from "./openapi/operation.ts";
import { jsonAnswer, Limit, waitMs } from "./openapi/params.ts";
import { Cursor, decodeNumbers, encodeNumbers, newestFirst, type Place } from "./query/cursor.ts";
import { askPools } from "./query/fan-out.ts";
import { Hold } from "./query/hold.ts";
import { mergeNewest } from "./query/merge.ts";
import { idsOf } from "./walls/run-limits.ts";

/** Stands for the registry among the names of pools. No pool can have this name. */
const REGISTRY = ".registry";

const list = operation({
  method: "get",
  path: "/v1/audit",
  operationId: "listAudit",
  access: "audit:read",
  tag: "Audit",
  summary: "Who did what, newest first",
  description:
    "One entry for each change that somebody has asked for, and for each submission. `cursor` reads on " +
    "into the past. `after`, with the `follow` of an earlier answer, reads what came since then, oldest " +
    "first; with `wait` the answer is held until something comes. A token that is limited to pools sees " +
    "the entries that concern these pools.",
  request: {
    query: z.strictObject({
      actor: z.string().max(256).optional().describe("as events name them: `admin`, `token:ci`"),
      action: AuditActionFilter.optional().describe("an action, or the part before its dot"),
      target: z.string().max(256).optional().describe("the id of the run, worker, pool or token"),
      within: z
        .string()
        .regex(new RegExp(`^run:${RUN_ID}$`), "must be run: and the id of a run")
        .optional()
        .describe("only what concerns this run: `run:ID`"),
      pool: Name.optional().describe("only what concerns this pool"),
      since: InstantInput.optional().describe("from this instant on"),
      until: InstantInput.optional().describe("before this instant"),
      limit: Limit,
      cursor: Cursor.optional(),
      after: z.string().max(100_000).optional().describe("the `follow` of an earlier answer"),
      wait: Wait.optional(),
    }),
  },
  responses: { 200: jsonAnswer("the entries", AuditList) },
});

type Question = z.output<typeof list.request.query>;

/** Adds the route of the audit log (audit.md#reading). */
export function auditRoutes(app: EdgeApp): void {
  app.openapi(list, async (c) => {
    const question = c.req.valid("query");
    const { pool, after, cursor, since, until } = question;
    const names = [...(pool === undefined ? await c.var.pools.names() : [pool]), REGISTRY];
    if (after === undefined) return c.json(await pageOf(c.var, names, question), 200);
    if (cursor !== undefined || since !== undefined || until !== undefined) {
      const detail = "cannot be used together with `cursor`, `since` or `until`";
      throw invalid([{ pointer: "?after", detail }]);
    }
    const from = decodeNumbers(after);
    if (from === undefined) {
      throw invalid([{ pointer: "?after", detail: "must be the `follow` of an earlier answer, unchanged" }]);
    }
    return c.json(await newsOf(c.var, names, question, from), 200);
  });
}

function filterOf(
  { actor, action, target, within, pool, since, until }: Question,
  caller: Caller,
): AuditFilter {
  const actions = AUDIT_ACTIONS.filter((one) => one === action || one.startsWith(`${action}.`));
  return {
    by: actor,
    actions: action === undefined ? undefined : actions,
    target,
    run: within && idsOf(caller, [within.slice("run:".length)])[0],
    pools: pool === undefined ? undefined : [pool],
    since: since === undefined ? undefined : Date.parse(since),
    until: until === undefined ? undefined : Date.parse(until),
  };
}

function ownerOf(objects: Objects, name: string) {
  return name === REGISTRY ? objects.registry() : objects.pool(name);
}

async function pageOf(
  { objects, caller }: EdgeTypes["Variables"],
  names: readonly string[],
  question: Question,
): Promise<AuditList> {
  const { limit, cursor: position } = question;
  const filter = filterOf(question, caller);
  const latest: Record<string, number> = {};
  const { items, next, service } = await mergeNewest({
    names,
    limit,
    position,
    placeOf,
    async fetch(name, cursor) {
      const page = await ownerOf(objects, name).audit(filter, { limit, cursor });
      latest[name] ??= page.latest; // of the first fetch: what came since then is news
      return page;
    },
  });
  return { items, next, follow: encodeNumbers(latest), service: withoutRegistry(service) };
}

/** What came since, from each owner. Waits until one of them has something. */
async function newsOf(
  { objects, caller }: EdgeTypes["Variables"],
  names: readonly string[],
  question: Question,
  from: Record<string, number>,
): Promise<AuditList> {
  const filter = filterOf(question, caller);
  const hold = new Hold(waitMs(question.wait));
  const ask = (name: string, ms: number) => ownerOf(objects, name).auditAfter(filter, from[name] ?? 0, ms);
  const look = () => askPools(names, (name) => ask(name, 0));
  const isNews = ({ answers }: Awaited<ReturnType<typeof look>>) =>
    [...answers.values()].some(({ items }) => items.length > 0);
  let found = await hold.ask(look);
  if (hold.leftMs > 0 && !isNews(found)) {
    await Promise.race(names.map((name) => hold.ask((leftMs) => ask(name, leftMs))));
    found = await look();
  }
  const { answers, service } = found;
  const sorted = [...answers.values()].flatMap(({ items }) => items);
  sorted.sort((a, b) => newestFirst(placeOf(b), placeOf(a)));
  const next = Object.fromEntries([...answers].map(([name, answer]) => [name, answer.next]));
  return {
    items: sorted,
    next: null,
    follow: encodeNumbers({ ...from, ...next }),
    service: withoutRegistry(service),
  };
}

function withoutRegistry(service: AuditList["service"]): AuditList["service"] {
  return service.filter(({ pool }) => pool !== REGISTRY);
}

function placeOf({ recordedAt, id }: AuditEntry): Place {
  return { at: recordedAt, id };
}
