// How do samples of processor and memory become the usage of host and attempts?
import type { Usage } from "../../../src/schema/host.ts";
import { earliest, type Instant } from "../../../src/shared/machine.ts";
import { FIRST_SAMPLE_MS, MAX_SAMPLED_ATTEMPTS, SAMPLE_EVERY_MS, SAMPLE_GAP_MS } from "../bounds.ts";
import type { HostMessage } from "../messages.ts";
import type { HostState, RawUsage, UsageState } from "../types.ts";

type Sampled = { host: RawUsage; attempts: Record<string, RawUsage> };

/** Ids of the attempts that are sampled: those that run, as many as a report has room for. */
function sampled({ attempts }: HostState): string[] {
  const running = Object.values(attempts).filter(({ main }) => main === "running");
  return running.slice(0, MAX_SAMPLED_ATTEMPTS).map(({ id }) => id);
}

/**
 * When the next sample is to be taken; undefined while nothing runs, or one is being taken. Each attempt has
 * one soon after its own start, whenever the others were sampled. A command that ends quickly has none.
 */
export function sampleDueAt(state: HostState): Instant | undefined {
  const { usage, attempts } = state;
  if (usage.sampling) return undefined;
  const latest = usage.latest?.at ?? Number.NEGATIVE_INFINITY;
  const firsts = sampled(state).map((id) => (attempts[id]?.startedAt ?? latest) + FIRST_SAMPLE_MS);
  const next = earliest(...firsts.map((at) => (at > latest ? at : latest + SAMPLE_EVERY_MS)));
  return next === undefined ? undefined : Math.max(next, latest + SAMPLE_GAP_MS);
}

/** The sample that is owed, while it is being taken. */
export function dueSample(state: HostState): HostMessage[] {
  if (!state.usage.sampling) return [];
  return [{ to: "usage", kind: "sample", repeatedBy: "self", ids: sampled(state) }];
}

/** Folds a sample in: what has been used at most since the one before it is the time between them. */
export function withSample({ latest }: UsageState, { host, attempts }: Sampled, now: Instant): UsageState {
  const forMs = latest === undefined ? 0 : now - latest.at;
  const rated = (raw: RawUsage, before: RawUsage | undefined) => {
    const { cpuMs, memoryBytes, pids } = raw;
    if (before === undefined || forMs <= 0) return { cpuMs, memoryBytes, pids };
    // A process that nobody waited for takes its time with it: the sum can fall.
    const cpus = Math.max(0, (cpuMs - before.cpuMs) / forMs);
    return { cpuMs, memoryBytes, pids, cpus: Math.round(cpus * 1_000) / 1_000 };
  };
  const entries = Object.entries(attempts).map(([id, raw]) => [id, rated(raw, latest?.attempts[id])]);
  return {
    sampling: false,
    latest: { at: now, host: rated(host, latest?.host), attempts: Object.fromEntries(entries) },
  };
}

/**
 * What a report says of usage: the latest sample, of what runs still. Each report in full has it; another
 * one only if no report has had this sample (host-protocol.md#report).
 */
export function usageOf(state: HostState, full: boolean, now: Instant): Usage | undefined {
  const { latest } = state.usage;
  if (latest === undefined || (!full && latest.at === state.exchange.usageTold)) return undefined;
  const attempts: Usage["attempts"] = {};
  for (const id of sampled(state)) {
    const sample = latest.attempts[id];
    if (sample !== undefined) attempts[id] = sample;
  }
  if (Object.keys(attempts).length === 0) return undefined;
  return { agoMs: Math.max(0, now - latest.at), host: latest.host, attempts };
}
