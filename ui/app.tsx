// What stands around every page: the top bar, the sign-in, and the page that the address names.
import { type Signal, signal, useSignalEffect } from "@preact/signals";
import type { ComponentType } from "preact";
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
  run: async () => (await import("./pages/run/run.tsx")).Run,
  workers: async () => (await import("./pages/workers.tsx")).Workers,
  worker: async () => (await import("./pages/worker/worker.tsx")).Worker,
  pools: async () => (await import("./pages/pools.tsx")).Pools,
  pool: async () => (await import("./pages/pool.tsx")).Pool,
};

/** The page that is shown. It stays until the next one has been loaded (ui.md#d12). */
const shown: Signal<{ name: string; Page: Page; item: string | undefined } | undefined> = signal(undefined);
const fault = signal<unknown>(undefined);

/** The whole of the page. */
export function App() {
  useSignalEffect(() => {
    const { page, item } = route.value;
    void show(item === undefined ? page : page.replace(/s$/, ""), item);
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
        <Trouble error={fault.value} />
        <Shown />
      </main>
    </>
  );
}

function Shown() {
  const now = shown.value;
  if (now === undefined) return null;
  const { name, Page, item } = now;
  return <Page key={`${name}/${item ?? ""}`} item={item} />;
}

async function show(name: string, item: string | undefined): Promise<void> {
  const load = PAGES[name];
  fault.value = load === undefined ? new Error(`There is no page ${place.peek().path}.`) : undefined;
  if (load === undefined) return;
  try {
    const Page = await load();
    // Somebody may have gone on meanwhile.
    const { page, item: wanted } = route.peek();
    if (wanted === item && page.startsWith(name)) shown.value = { name, Page, item };
  } catch (error) {
    fault.value = error;
  }
}
