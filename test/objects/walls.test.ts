import { beforeEach, describe, expect, test } from "vitest";
import { type Caller, eventsIn, type Json, openEdge } from "./support/edge.ts";
import { bootMachine, eventually, freshWorld, makePool } from "./support/world.ts";

// What the filters of the real objects let through: two projects share a pool with a team of `default`, whose
// token is limited to labels.

const world = freshWorld();

const SUBMIT = ["runs:read", "runs:logs", "runs:write"];
const OPERATE = [...SUBMIT, "pools:read", "workers:write", "audit:read", "metrics:read"];
/** Marks of what belongs to others: ids, names and labels. */
const OTHERS = /\bweb\b|"them/;

let edge: ReturnType<typeof openEdge>;
let web: Caller;
let ml: Caller;
let them: Caller;
let us: Caller;
beforeEach(async () => {
  edge = openEdge();
  for (const name of ["ml", "web"]) await edge.admin.json(201, "POST", "/v1/projects", { name });
  const projects = { default: {}, ml: { maxRuns: 5 }, web: { maxRuns: 9 } };
  await makePool({ projects, maxInstances: 1 });
  ml = await edge.newToken({ name: "ci", scopes: OPERATE }, "ml");
  web = await edge.newToken({ name: "ci", scopes: OPERATE }, "web");
  const teamOf = (team: string) => ({ name: team, scopes: SUBMIT, limits: { labels: { team } } });
  us = await edge.newToken(teamOf("us"));
  them = await edge.newToken(teamOf("them"));
});

/** A run that needs all of a machine: it waits until a test boots one. */
const WAITS = { argv: ["true"], resources: { vcpus: 4 } };

/** Submits a run, and returns its id. */
const submitted = async (caller: Caller, more: object = {}): Promise<string> =>
  (await caller.json(201, "POST", "/v1/runs", { ...WAITS, ...more })).id;

/** The pairs of a caller and another one whose things do not exist for it. */
const pairs = () => [
  { name: "a project", caller: ml, other: web },
  { name: "a limited token", caller: us, other: them },
];

const ids = ({ items }: Json): string[] => items.map(({ id }: Json) => id);

/** Follows the pages of a list to its end. `cursor`: where to begin. */
async function pagesOf(caller: Caller, path: string, cursor?: string): Promise<Json[]> {
  const pages: Json[] = [];
  for (let next: string | undefined | null = cursor; next !== null; ) {
    const from: string = next === undefined ? "" : `&cursor=${next}`;
    const page = await caller.json(200, "GET", `${path}${from}`);
    pages.push(page);
    next = page.next;
  }
  return pages;
}

/** What a cursor says, as its maker has written it. */
const textOf = (cursor: string | null) =>
  cursor === null ? "" : atob(cursor.replaceAll("-", "+").replaceAll("_", "/"));

describe("lists of runs (access.md#walls, projects.md#runs)", () => {
  test("have the caller's own in every page, and so has a page from the cursor of another", async () => {
    for (const { name, caller, other } of pairs()) {
      const own: string[] = [];
      for (let n = 0; n < 3; n += 1) {
        await submitted(other);
        own.unshift(await submitted(caller));
        await submitted(other);
      }
      const pages = await pagesOf(caller, "/v1/runs?state=all&limit=1");
      expect([name, pages.flatMap(ids)]).toEqual([name, own]);
      expect(JSON.stringify(pages)).not.toMatch(OTHERS);
      const theirs = await other.json(200, "GET", "/v1/runs?limit=2");
      const all = await edge.admin.json(200, "GET", "/v1/runs?limit=1");
      for (const { next } of [theirs, all]) {
        const rest = await pagesOf(caller, "/v1/runs?state=all&limit=1", next);
        expect([name, rest.flatMap(ids)]).toEqual([name, own.slice(-rest.flatMap(ids).length)]);
        expect(rest.flatMap(ids)).toContain(own.at(-1));
      }
    }
  });

  test("have cursors that name no run of another", async () => {
    for (const { caller, other } of pairs()) {
      const hidden: string[] = [];
      for (let n = 0; n < 2; n += 1) {
        await submitted(caller);
        hidden.push(await submitted(other));
      }
      const pages = await pagesOf(caller, "/v1/runs?state=all&limit=1");
      const cursors = pages.map(({ next }) => textOf(next)).join();
      expect(hidden.filter((id) => cursors.includes(id))).toEqual([]);
    }
  });

  test("stop nothing of others when all are aborted from a cursor, or by their states", async () => {
    for (const { caller, other } of pairs()) {
      const [own, theirs] = [await submitted(caller), await submitted(other)];
      const { next } = await edge.admin.json(200, "GET", "/v1/runs?limit=1&state=all");
      await caller.json(200, "POST", "/v1/runs/abort", { all: true, cursor: next });
      const found = await caller.json(200, "POST", "/v1/runs/abort", {
        pool: "default",
        states: ["pending"],
      });
      expect(ids(found).filter((id) => id !== own)).toEqual([]);
      expect((await other.json(200, "GET", `/v1/runs/${theirs}`)).abort).toBeNull();
      expect((await caller.json(200, "GET", `/v1/runs/${own}`)).abort).not.toBeNull();
    }
  });
});

describe("a wait for runs of a pool (access.md#walls, projects.md#runs)", () => {
  const waiting = (caller: Caller, more: string) =>
    caller.json(200, "GET", `/v1/runs?pool=default&state=done&wait=60s${more}`);

  test.each(["", "&all=1"])(
    "goes on while only runs of others end, and ends with its own%s",
    async (more) => {
      for (const { name, caller, other } of pairs()) {
        const [own, theirs] = [await submitted(caller), await submitted(other)];
        const answer = waiting(caller, more);
        await other.json(200, "POST", `/v1/runs/${theirs}/abort?wait=60s`, {});
        await waiting(other, ""); // the pool knows of it
        await caller.json(200, "POST", `/v1/runs/${own}/abort`, {});
        expect([name, ids(await answer)]).toEqual([name, [own]]);
      }
    },
  );
});

describe("the changes of a pool (access.md#walls, api.md#pool-events)", () => {
  test("as a stream have nothing of others, and the caller's own after it", async () => {
    const streams: [Set<string>, string[]][] = [];
    const reading: Promise<void>[] = [];
    for (const { caller, other } of pairs()) {
      await submitted(other);
      const accept = { accept: "text/event-stream" };
      const stream = await caller.send("GET", "/v1/events?pool=default", undefined, accept);
      await submitted(other);
      const seen = new Set<string>();
      const read = async () => {
        for await (const { event, data } of eventsIn(stream)) if (event === "run") seen.add(data.id);
      };
      reading.push(read());
      streams.push([seen, [await submitted(caller)]]);
    }
    await eventually(() => streams.every(([seen]) => seen.size > 0) || undefined);
    // The end of the pool ends its streams, after all that they had to say.
    await edge.admin.send("DELETE", "/v1/pools/default?force=1");
    await Promise.all(reading);
    for (const [seen, own] of streams) expect([...seen]).toEqual(own);
  });

  test("from any number on have nothing of others", async () => {
    for (const { caller, other } of pairs()) {
      await submitted(other);
      const own = await submitted(caller);
      const { items } = await edge.admin.json(200, "GET", "/v1/events?pool=default");
      const runs = async (after: number) =>
        (await caller.json(200, "GET", `/v1/events?pool=default&after=${after}`)).items.flatMap(
          ({ run }: Json) => run?.id ?? [],
        );
      for (const { number } of items) {
        const found = await runs(number);
        expect(found.filter((id: string) => id !== own)).toEqual([]);
      }
      expect(await runs(0)).toEqual([own]);
    }
  });
});

describe("the audit log (projects.md#callers, audit.md#reading)", () => {
  const runsIn = ({ items }: Json) => new Set(items.map(({ run }: Json) => run));

  test("of a project has nothing of others, in any page, from any cursor, and for a follower", async () => {
    const [own, theirs] = [await submitted(ml), await submitted(web)];
    for (const [who, id] of [
      [web, theirs],
      [ml, own],
    ] as const)
      await who.json(200, "POST", `/v1/runs/${id}/abort?wait=60s`, { reason: "enough" });
    const full = await eventually(async () => {
      const found = await edge.admin.json(200, "GET", "/v1/audit?action=run&limit=100");
      return found.items.length === 4 ? found : undefined;
    });
    expect(runsIn(full)).toEqual(new Set([own, theirs]));

    const pages = await pagesOf(ml, "/v1/audit?limit=1");
    const actions = pages.flatMap(({ items }) => items.map(({ action }: Json) => action));
    expect(actions.sort()).toEqual(["run.abort", "run.submit", "token.create"]);
    expect(JSON.stringify(pages)).not.toMatch(OTHERS);
    expect(pages.map(({ next }) => textOf(next)).join()).not.toContain(theirs);

    const { next } = await edge.admin.json(200, "GET", "/v1/audit?limit=1");
    const rest = await pagesOf(ml, "/v1/audit?limit=1", next);
    expect(runsIn({ items: rest.flatMap(({ items }) => items) })).toContain(own);
    expect(JSON.stringify(rest)).not.toMatch(OTHERS);
    for (const filter of [`target=${theirs}`, `within=run:${theirs}`, "actor=token:web:ci"])
      expect((await ml.json(200, "GET", `/v1/audit?${filter}`)).items).toEqual([]);

    // From the very beginning, as a follower whose position somebody has made up.
    const { follow } = await ml.json(200, "GET", "/v1/audit?limit=1");
    const zero = btoa(JSON.stringify({ default: 0, ".registry": 0 })).replaceAll("=", "");
    const news = await ml.json(200, "GET", `/v1/audit?after=${zero}`);
    expect(runsIn(news)).toEqual(new Set([own, null]));
    expect(JSON.stringify(news)).not.toMatch(OTHERS);
    const waiting = ml.json(200, "GET", `/v1/audit?after=${follow}&wait=60s`);
    await submitted(web);
    const last = await submitted(ml);
    expect(runsIn(await waiting)).toEqual(new Set([last]));
  });

  test("of a token for one pool has nothing of another pool (access.md#limits)", async () => {
    await makePool({ maxInstances: 0 }, "other");
    const limited = await edge.newToken({ name: "op", scopes: OPERATE, limits: { pools: ["default"] } });
    const { follow } = await limited.json(200, "GET", "/v1/audit");
    const waiting = limited.json(200, "GET", `/v1/audit?after=${follow}&wait=60s`);
    const hidden = await submitted(edge.admin, { pool: "other" });
    const own = await submitted(edge.admin);
    expect(runsIn(await waiting)).toEqual(new Set([own]));
    const { next } = await edge.admin.json(200, "GET", "/v1/audit?limit=1");
    for (const cursor of [undefined, next]) {
      const pages = await pagesOf(limited, "/v1/audit?limit=1", cursor);
      expect(JSON.stringify(pages)).not.toContain(hidden);
      const entries = pages.flatMap(({ items }) => items);
      expect(entries.filter(({ pool }: Json) => pool !== "default")).toEqual([]);
      if (cursor === undefined) expect(runsIn({ items: entries })).toContain(own);
    }
  });
});

describe("a pool of several projects (projects.md#pools)", () => {
  test("shows each its places in the queue, its quotas and its numbers", async () => {
    const own = await submitted(ml);
    await submitted(web);
    const last = await submitted(ml);
    const pages = await pagesOf(ml, "/v1/pools/default/queue?limit=1");
    expect(pages.flatMap(ids)).toEqual([own, last]);
    expect(pages.flatMap(({ items }) => items.map(({ position }: Json) => position))).toEqual([1, 3]);
    const { next } = await edge.admin.json(200, "GET", "/v1/pools/default/queue?limit=2");
    expect((await pagesOf(ml, "/v1/pools/default/queue?limit=1", next)).flatMap(ids)).toEqual([last]);

    const view = await ml.json(200, "GET", "/v1/pools/default");
    expect(JSON.stringify([view, pages])).not.toMatch(OTHERS);
    expect(view.config.projects).toEqual({ ml: { maxRuns: 5 } });
    expect(Object.keys(view.projects)).toEqual(["ml"]);
    expect(view).not.toHaveProperty("spend");
    const whole = await edge.admin.json(200, "GET", "/v1/pools/default");
    expect(Object.keys(whole.projects).sort()).toEqual(["default", "ml", "web"]);

    const metrics = await (await ml.send("GET", "/metrics")).text();
    expect(metrics).toMatch(/drover_runs\{pool="default",state="pending",project="ml"\} 2/);
    expect(metrics).not.toMatch(OTHERS);
    for (const line of metrics.split("\n").filter((one) => /^drover_(?!webhook)/.test(one)))
      expect(line).toContain('project="ml"');
  });

  test("that does not serve a project refuses its runs in the words for no pool", async () => {
    await makePool({ maxInstances: 0, projects: { web: {} } }, "theirs");
    const refused = async (pool: string) => {
      const { instance: _, ...problem } = await ml.json(404, "POST", "/v1/runs", { ...WAITS, pool });
      return JSON.parse(JSON.stringify(problem).replaceAll(pool, "POOL"));
    };
    const [theirs, none] = [await refused("theirs"), await refused("nowhere")];
    expect(theirs).toEqual(none);
    expect(none).toMatchObject({ code: "unknown_pool" });
  });
});

describe("a machine of a pool of several projects (projects.md#machines)", () => {
  const seen = async (caller: Caller, worker: string) => {
    const { status } = await caller.send("GET", `/v1/workers/${worker}`);
    const why = await caller.send("GET", `/v1/workers/${worker}/why`);
    const listed = ids(await caller.json(200, "GET", "/v1/workers")).includes(worker);
    const events = await caller.json(200, "GET", "/v1/events?pool=default");
    const isInEvents = events.items.some((one: Json) => one.worker?.id === worker);
    return { status, why: why.status, listed, isInEvents };
  };
  const VISIBLE = { status: 200, why: 200, listed: true, isInEvents: true };
  const HIDDEN = { status: 404, why: 404, listed: false, isInEvents: false };

  test("is the project's whose run is placed there first, and the operator's to end", async () => {
    const own = await submitted(ml);
    const { worker } = await bootMachine(world.cloud);
    await eventually(async () =>
      (await edge.admin.json(200, "GET", `/v1/workers/${worker}`)).runs.includes(own) ? true : undefined,
    );
    expect(await seen(ml, worker)).toEqual(VISIBLE);
    expect(await seen(web, worker)).toEqual(HIDDEN);
    for (const verb of ["hold", "drain", "resume", "kill"]) {
      const theirs = await web.json(404, "POST", `/v1/workers/${worker}/${verb}`, {});
      expect(theirs).toMatchObject({ code: "unknown_worker" });
      // Its machines are the operator's to end.
      expect(await ml.json(403, "POST", `/v1/workers/${worker}/${verb}`, {})).toMatchObject({
        code: "beyond_limits",
      });
    }
    const { idleBehavior, state } = await edge.admin.json(200, "GET", `/v1/workers/${worker}`);
    expect([idleBehavior, state]).toEqual(["run", "running"]);
  });

  test("that nobody has used is seen by all of the pool's projects", async () => {
    await makePool({ projects: { ml: {}, web: {} }, minInstances: 1, maxInstances: 1 });
    const { worker } = await bootMachine(world.cloud);
    for (const caller of [ml, web]) expect(await seen(caller, worker)).toEqual(VISIBLE);
    for (const verb of ["hold", "drain", "kill"]) {
      const refused = await ml.json(403, "POST", `/v1/workers/${worker}/${verb}`, {});
      expect(refused).toMatchObject({ code: "beyond_limits" });
    }
  });

  test("with a run of another project is unknown, also once the pool serves one alone", async () => {
    const theirs = await submitted(web);
    const { worker } = await bootMachine(world.cloud);
    await eventually(async () =>
      (await edge.admin.json(200, "GET", `/v1/workers/${worker}`)).runs.includes(theirs) ? true : undefined,
    );
    await makePool({ projects: { ml: {} }, maxInstances: 1 });
    const fresh = openEdge().as(ml.token); // which has not seen the pool as it was
    expect(await seen(fresh, worker)).toEqual(HIDDEN);
    await fresh.json(404, "POST", `/v1/workers/${worker}/kill`, {});
  });

  test("that was ready while the pool served `default` alone is hidden from who comes later", async () => {
    await makePool({ minInstances: 1, maxInstances: 1 });
    const { worker } = await bootMachine(world.cloud);
    await makePool({ projects: { ml: {}, web: {} }, maxInstances: 1 });
    const fresh = openEdge().as(ml.token);
    expect(await seen(fresh, worker)).toEqual(HIDDEN);
    await fresh.json(404, "POST", `/v1/workers/${worker}/drain`, {});
  });

  test("that projects share shows each its own runs, and no status once others use it", async () => {
    await makePool({ projects: { ml: {}, web: {} }, shareMachines: true, maxInstances: 1 });
    const small = { resources: { vcpus: 1 } };
    const [own, theirs] = [await submitted(ml, small), await submitted(web, small)];
    const { worker } = await bootMachine(world.cloud);
    await eventually(async () =>
      (await edge.admin.json(200, "GET", `/v1/workers/${worker}`)).runs.length === 2 ? true : undefined,
    );
    expect(await seen(ml, worker)).toEqual({ ...VISIBLE, status: 404, why: 404 });
    const listed = await ml.json(200, "GET", "/v1/workers");
    expect(listed.items.map(({ runs }: Json) => runs)).toEqual([[own]]);
    const { items } = await ml.json(200, "GET", "/v1/events?pool=default");
    expect(JSON.stringify([items, listed])).not.toContain(theirs);
  });
});
