// What stands at the top of every page: where one can go, which pool is shown, and whether it is live.
import type { PoolList } from "../src/generated/api.ts";
import { ask } from "./api/send.ts";
import { session, signOut } from "./api/session.ts";
import { Keys } from "./keys.tsx";
import { perHour } from "./parts/price.ts";
import { address, go, hrefOf, queryOf, route, routeOf, withQuery } from "./router/place.ts";
import { frugalMs } from "./store/frugal.ts";
import { followed, live } from "./store/live.ts";
import { useLoad } from "./store/load.ts";
import { poolNames } from "./store/pools.ts";

const PLACES = [
  ["now", "Now", "/ui"],
  ["runs", "Runs", "/ui/runs"],
  ["jobs", "Jobs", "/ui/jobs"],
  ["workers", "Workers", "/ui/workers"],
  ["pools", "Pools", "/ui/pools"],
  ["events", "Events", "/ui/events"],
  ["admin", "Admin", "/ui/admin"],
] as const;

/** Prices and names of pools change seldom. */
const POOLS_MS = 30_000;

/** The top bar. */
export function TopBar() {
  const pools = useLoad({
    key: "pools",
    ask: async (signal) => {
      const list = await ask("listPools", {}, signal);
      poolNames.value = list.items.map(({ name }) => name);
      return list;
    },
    everyMs: POOLS_MS,
  });
  const pool = queryOf("pool");
  return (
    <header>
      <nav aria-label="Pages">
        {PLACES.map(([page, word, href]) => (
          <a
            key={page}
            href={hrefOf(href, new URLSearchParams(), { pool })}
            aria-current={route.value.page === page ? "page" : undefined}
          >
            {word}
          </a>
        ))}
      </nav>
      <PoolSwitch />
      <Costs pools={pools.value} />
      <LiveMark />
      <Who />
      <Keys />
    </header>
  );
}

function PoolSwitch() {
  const names = poolNames.value;
  const chosen = queryOf("pool");
  const all = names.includes(chosen) || chosen === "" ? names : [chosen, ...names];
  const choose = (pool: string) => {
    // Where the reader wants to be, and not what is shown while that is loaded.
    const { path, query } = address.peek();
    const { page, item } = routeOf(path);
    // An item belongs to one pool: another pool leads back to the list. Parts of the administration do not.
    const stays = item === undefined || page === "admin";
    const elsewhere = { cursor: undefined, selected: undefined, all: undefined };
    go(hrefOf(stays ? path : `/ui/${page}`, query, { ...elsewhere, pool }));
  };
  return (
    <label>
      Pool{" "}
      <select value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">all</option>
        {all.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function Costs({ pools }: { pools: PoolList | undefined }) {
  const chosen = queryOf("pool");
  const spends = (pools?.items ?? [])
    .filter(({ name }) => chosen === "" || name === chosen)
    .flatMap(({ spend }) => (spend === undefined ? [] : [spend]));
  if (spends.length === 0) return null;
  const now = spends.reduce((sum, { perHour: one }) => sum + one, 0);
  const unpriced = spends.reduce((sum, one) => sum + one.unpriced, 0);
  const worst = spends.reduce<number | null>(
    (sum, { worstPerHour }) => (sum === null || worstPerHour === null ? null : sum + worstPerHour),
    0,
  );
  return (
    <span title="what all machines cost now, and the most that their pools can cost">
      {perHour(now)}
      {unpriced > 0 && `, ${unpriced} unpriced`}, limit {perHour(worst)}
    </span>
  );
}

function LiveMark() {
  const now = live.value;
  if (frugalMs.value !== undefined) {
    return (
      <span class="stream" role="status">
        every {frugalMs.value / 1_000} s, <a href={withQuery({ refresh: "0" })}>go live</a>
      </span>
    );
  }
  return (
    <span class={`stream ${now.is}`} role="status">
      {now.is === "live" && "live"}
      {now.is === "connecting" && "connecting…"}
      {now.is === "resuming" && (now.at === undefined ? "connecting again…" : `resuming at ${now.at}`)}
      {now.is === "paused" && "paused: hidden"}
      {now.is === "refused" && "not live: your token may not read runs"}
      {now.is === "gone" && `pool ${now.pool} is deleted`}
      {now.is === "off" && (followed.value === undefined ? "not live" : "connecting…")}
    </span>
  );
}

function Who() {
  const now = session.value;
  if (now.is !== "in") return null;
  return (
    <span>
      {now.caller.by}{" "}
      <button type="button" class="small" onClick={() => void signOut()}>
        Sign out
      </button>
    </span>
  );
}
