// How does a component get what it shows? What it had stays until the next answer is there (ui.md#d12).
import { type Signal, signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { isTemporary } from "../api/send.ts";
import { isVisible } from "./clock.ts";
import { frugalMs } from "./frugal.ts";

/** What a component shows, and whether something newer is asked for. */
export interface Loaded<T> {
  /** The latest answer, perhaps to an earlier question; undefined: there was none yet. */
  value: T | undefined;
  /** Whether `value` answers another question than the one that is asked now. */
  isStale: boolean;
  /** Why the latest question has no answer. */
  error: unknown;
  /** Asks again. */
  again: () => void;
}

/** Whether there is something to show: what is below it does not move under a pointer any more. */
export function isSettled({ value, error }: Loaded<unknown>): boolean {
  return value !== undefined || error !== undefined;
}

interface Question<T> {
  /** Names the question: another key is another question. Undefined: nothing is asked. */
  key: string | undefined;
  ask(signal: AbortSignal): Promise<T>;
  /** How often to ask again while the page is visible (ui.md#d13). Absent: never. */
  everyMs?: number | undefined;
  /**
   * Another number asks again, but only after the answer that is on its way: much news must not keep a slow
   * answer from arriving. Without the stream that makes it grow, the question is asked by time.
   */
  version?: number | undefined;
  /** Whether only the reader asks again: also after "not now". */
  isByHand?: boolean;
  /** Whether there can be no other answer: then the question is not asked again by time (ui.md#d13). */
  isLast?: (value: T) => boolean;
}

const RETRY_MS = 2_000;

/** Asks, keeps the former answer meanwhile, and asks again if the answer was "not now". */
export function useLoad<T>(question: Question<T>): Loaded<T> {
  const { key, everyMs, version } = question;
  const latest = useRef(question);
  latest.current = question;
  const state = useMemo(() => signal<State<T>>({ key: undefined, value: undefined, error: undefined }), []);
  const turn = useMemo(() => signal(0), []);
  const again = () => {
    turn.value += 1;
  };
  /** Which version has been asked for, and what asks for the present one. */
  const asking = useRef<{ version: number | undefined; ask: () => void }>({ version, ask: () => undefined });
  useEffect(() => {
    if (key === undefined) return;
    const ending = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isUnderWay = false;
    const next = (ms: number) => {
      timer = setTimeout(() => whenVisible(ending.signal, () => void run()), ms);
    };
    const run = async () => {
      clearTimeout(timer);
      if (isUnderWay || ending.signal.aborted) return;
      isUnderWay = true;
      const asked = latest.current.version;
      asking.current.version = asked;
      const outcome = await answer(latest.current, state, ending.signal);
      isUnderWay = false;
      if (ending.signal.aborted) return;
      if (latest.current.version !== asked) return void run();
      if (latest.current.isByHand) return;
      const pauseMs = outcome === "not now" ? RETRY_MS : pauseOf(latest.current, state.peek().value);
      // What Drover has refused for good it would refuse again, with an entry of the audit log each time.
      if (outcome !== "refused" && pauseMs !== undefined) next(pauseMs);
    };
    asking.current.ask = () => void run();
    void run();
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [key, turn.value, everyMs === undefined, frugalMs.value]);
  useEffect(() => {
    if (asking.current.version !== version) asking.current.ask();
  }, [version]);
  const { value, error } = state.value;
  return { value, error, isStale: value !== undefined && state.value.key !== key, again };
}

/** How long until the question is asked again; undefined: it is not, unless something changes. */
function pauseOf<T>({ everyMs, version, isLast }: Question<T>, value: T | undefined): number | undefined {
  if (value !== undefined && isLast?.(value)) return undefined;
  const frugal = frugalMs.peek();
  if (frugal === undefined) return everyMs;
  if (everyMs === undefined) return version === undefined ? undefined : frugal;
  return Math.max(everyMs, frugal);
}

interface State<T> {
  key: string | undefined;
  value: T | undefined;
  error: unknown;
}

/** Stores the answer, or why there is none. */
async function answer<T>(
  { key, ask }: Question<T>,
  state: Signal<State<T>>,
  ending: AbortSignal,
): Promise<"answered" | "not now" | "refused"> {
  try {
    const value = await ask(ending);
    if (!ending.aborted) state.value = { key, value, error: undefined };
    return "answered";
  } catch (error) {
    if (ending.aborted) return "refused";
    state.value = { ...state.peek(), error };
    return isTemporary(error) ? "not now" : "refused";
  }
}

function whenVisible(ending: AbortSignal, then: () => void): void {
  if (isVisible.peek()) {
    then();
    return;
  }
  const stop = isVisible.subscribe((visible) => {
    if (!visible || ending.aborted) return;
    queueMicrotask(() => stop());
    then();
  });
  ending.addEventListener("abort", () => stop());
}
