// What stands around every page: the top bar, the sign-in, and the page that the address names.
import { type Signal, signal, useSignalEffect } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { openSession, session } from "./api/session.ts";
import { Outside } from "./pages/sign-in.tsx";
import { Trouble } from "./parts/problem.tsx";
import { place, route } from "./router/place.ts";
import { TopBar } from "./top-bar.tsx";

/** What a page gets: the item that the address names. */
interface PageProps {
  item: string | undefined;
}

type Page = ComponentType<PageProps>;

/** The pages, each in a file that is loaded when the page is shown first (ui.md#size). */
const PAGES: Record<string, () => Promise<Page>> = {
  now: async () => (await import("./pages/now.tsx")).Now,
  runs: async () => (await import("./pages/runs/runs.tsx")).Runs,
  jobs: async () => (await import("./pages/jobs/jobs.tsx")).Jobs,
  workers: async () => (await import("./pages/workers.tsx")).Workers,
  pools: async () => (await import("./pages/pools.tsx")).Pools,
  events: async () => (await import("./pages/events/events.tsx")).Events,
  admin: async () => (await import("./pages/admin/admin.tsx")).Admin,
};

/** The pages about one thing. */
const ITEMS: Record<string, () => Promise<Page>> = {
  runs: async () => (await import("./pages/run/run.tsx")).Run,
  jobs: async () => (await import("./pages/job/job.tsx")).Job,
  workers: async () => (await import("./pages/worker/worker.tsx")).Worker,
  pools: async () => (await import("./pages/pool.tsx")).Pool,
  admin: async () => (await import("./pages/admin/admin.tsx")).Admin,
};

/** The page that is shown. It stays until the next one has been loaded (ui.md#d12). */
const shown: Signal<{ name: string; Page: Page; item: string | undefined } | undefined> = signal(undefined);
const fault = signal<string | undefined>(undefined);

/** The whole of the page. */
export function App() {
  useSignalEffect(() => {
    const { page, item } = route.value;
    void show(page, item);
  });
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
        <Shown />
      </main>
    </>
  );
}

function Shown() {
  const now = shown.value;
  const former = useRef<string>(undefined);
  const key = now === undefined ? "" : keyOf(now);
  useEffect(() => {
    // Who cannot see that the page has changed is told by the focus.
    if (former.current) document.getElementById("main")?.focus({ preventScroll: true });
    former.current = key;
  }, [key]);
  if (now === undefined) return null;
  const { Page, item } = now;
  return <Page key={key} item={item} />;
}

async function show(name: string, item: string | undefined): Promise<void> {
  const load = (item === undefined ? PAGES : ITEMS)[name];
  const { path } = place.peek();
  fault.value = load === undefined ? `There is no page ${path}. The pages are at the top.` : undefined;
  document.title = `${item ?? name} – Drover`;
  if (load === undefined) {
    shown.value = undefined;
    return;
  }
  try {
    const Page = await load();
    // Somebody may have gone on meanwhile.
    if (place.peek().path === path) shown.value = { name, Page, item };
  } catch {
    fault.value = "A part of the page could not be loaded. Load the page again.";
  }
}

const keyOf = ({ name, item }: { name: string; item: string | undefined }) => `${name}/${item ?? ""}`;
