// How much memory does a page hold?
import type { CDPSession } from "playwright-core";

/** MiB that live on the page's heap after a collection, and nodes of its document. */
export async function memoryOf(devTools: CDPSession): Promise<{ heapMib: number; nodes: number }> {
  await devTools.send("HeapProfiler.collectGarbage");
  const { metrics } = await devTools.send("Performance.getMetrics");
  const value = (wanted: string) => metrics.find(({ name }) => name === wanted)?.value ?? Number.NaN;
  return { heapMib: value("JSHeapUsedSize") / 2 ** 20, nodes: value("Nodes") };
}
