// What stands around every page: the top bar, the sign-in, and the page that the address names.
import { batch, effect, signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { openSession, session } from "./api/session.ts";
import { Outside } from "./pages/sign-in.tsx";
import { Trouble } from "./parts/problem.tsx";
import { address, type Place, place, route, routeOf } from "./router/place.ts";
import { TopBar } from "./top-bar.tsx";

/** What a page gets: the item that the address names. */
interface PageProps {
  item: string | undefined;
}

type Page = ComponentType<PageProps>;

type Load = () => Promise<Page>;

/** The pages, each in a file that is loaded when the page is shown first (ui.md#size). */
const PAGES: Record<string, Load> = {
  now: async () => (await import("./pages/now.tsx")).Now,
  runs: async () => (await import("./pages/runs/runs.tsx")).Runs,
  jobs: async () => (await import("./pages/jobs/jobs.tsx")).Jobs,
  workers: async () => (await import("./pages/workers.tsx")).Workers,
  pools: async () => (await import("./pages/pools.tsx")).Pools,
  events: async () => (await import("./pages/events/events.tsx")).Events,
  admin: async () => (await import("./pages/admin/admin.tsx")).Admin,
};

/** The pages about one thing. */
const ITEMS: Record<string, Load> = {
  runs: async () => (await import("./pages/run/run.tsx")).Run,
  jobs: async () => (await import("./pages/job/job.tsx")).Job,
  workers: async () => (await import("./pages/worker/worker.tsx")).Worker,
  pools: async () => (await import("./pages/pool.tsx")).Pool,
  admin: async () => (await import("./pages/admin/admin.tsx")).Admin,
};

/** Pages that have been loaded. */
const loaded = new Map<Load, Page>();

/** The page of the address that is shown. It stays until the next one has been loaded (ui.md#d12). */
const shown = signal<Page | undefined>(undefined);
const fault = signal<string | undefined>(undefined);

/** The whole of the page. */
export function App() {
  // Not `useSignalEffect`, which waits for a frame: of two keys in one frame, the second acts on what the
  // first has done.
  useLayoutEffect(() => effect(() => show(address.value)), []);
  const now = session.value;
  if (now.is === "starting") return <p class="nothing">Signing in…</p>;
  if (now.is === "out") return <Outside why={now.why} />;
  if (now.is === "broken") return <Trouble error={now.error} again={() => void openSession()} />;
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <TopBar />
      <main id="main" tabIndex={-1}>
        {fault.value !== undefined && (
          <p class="trouble" role="alert">
            {fault.value}
          </p>
        )}
        <ShownPage />
      </main>
    </>
  );
}

function ShownPage() {
  const Page = shown.value;
  const { page, item } = route.value;
  const former = useRef<string>(undefined);
  const key = Page === undefined ? "" : `${page}/${item ?? ""}`;
  // In the same step: a key that is pressed on the new page must not meet a focus that is still on its way.
  useLayoutEffect(() => {
    // Who cannot see that the page has changed is told by the focus.
    if (former.current) document.getElementById("main")?.focus({ preventScroll: true });
    former.current = key;
  }, [key]);
  return Page === undefined ? null : <Page key={key} item={item} />;
}

/** Shows the page of an address: at once if it has been loaded before. */
function show(wanted: Place): void {
  const { page, item } = routeOf(wanted.path);
  const pages = item === undefined ? PAGES : ITEMS;
  const load = Object.hasOwn(pages, page) ? pages[page] : undefined;
  fault.value = undefined;
  if (load === undefined) {
    turnTo(wanted, undefined, `There is no page ${wanted.path}. The pages are at the top.`);
    return;
  }
  const Page = loaded.get(load);
  if (Page !== undefined) turnTo(wanted, Page);
  else void loadAndShow(load, wanted);
}

async function loadAndShow(load: Load, wanted: Place): Promise<void> {
  const Page = await load().catch(() => undefined);
  if (Page !== undefined) loaded.set(load, Page);
  // Somebody may have gone on meanwhile.
  if (address.peek() !== wanted) return;
  if (Page !== undefined) turnTo(wanted, Page);
  else fault.value = "A part of the page could not be loaded. Load the page again.";
}

/** Address and page change in one step: no page is drawn with the query of another one. */
function turnTo(wanted: Place, Page: Page | undefined, why?: string): void {
  batch(() => {
    place.value = wanted;
    shown.value = Page;
    fault.value = why;
  });
  const { page, item } = route.peek();
  document.title = `${item ?? page} – Drover`;
}
