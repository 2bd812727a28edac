// How are messages carried out on this machine, and in which order?
import { join } from "node:path";
import type { Peaks } from "../../src/schema/run/peaks.ts";
import type { TaskSpec } from "../../src/schema/run/run.ts";
import type { DriverName } from "../../src/schema/run/task.ts";
import type { Instant, Millis } from "../../src/shared/machine.ts";
import { errorText } from "../../src/shared/words.ts";
import { runOf } from "../core/attempts/placements.ts";
import type { HostEvent } from "../core/events.ts";
import type { AttemptJournal, FoundAttempt } from "../core/journal.ts";
import type { HostMessage, MessageOf } from "../core/messages.ts";
import { withMaskedTexts } from "../core/redaction/texts.ts";
import type { RawUsage } from "../core/types.ts";
import type { DeviceSource } from "../devices/source.ts";
import { addressIn, type Driver, driverOf, type OnTaskEnd, type TaskEnd } from "../drivers/driver.ts";
import type { Snapshots } from "../plane/snapshots.ts";
import { runBootProbe } from "./boot-probe.ts";
import { Checker, type CheckerOptions } from "./checks/checks.ts";
import type { AllocDirs } from "./files/alloc-dirs.ts";
import { collectOutputs } from "./files/collect.ts";
import { punchLog } from "./files/punch.ts";
import type { StickyData } from "./files/sticky-data.ts";
import { inspectMachine } from "./inspect.ts";
import { Maskers, type SecretsOf } from "./maskers.ts";
import { lookForNotice } from "./notice.ts";
import type { Prestart } from "./prestart.ts";
import { type AttemptStore, hostMark } from "./processes/dirs.ts";
import { holdersOf } from "./processes/holders.ts";
import type { Inside } from "./processes/inside.ts";
import { measureHost } from "./processes/usage.ts";
import { startErrorOf } from "./start-fault.ts";
import { Streams } from "./streams.ts";
import type { TaskSecrets } from "./task-secrets.ts";

/** Messages that need nothing from the control plane except its snapshots. */
export type LocalMessage = Exclude<
  HostMessage,
  { kind: "report" | "connect" | "hang_up" | "ship_log" | "exit" }
>;
/** Messages that take long and that nothing waits for. They are aborted when no longer due. */
const TRANSFERS: readonly string[] = ["collect", "begin", "save", "check"];

/** The drivers of this host, in the order in which they are asked to recover an attempt. */
export type Drivers = Record<DriverName, Driver>;

export interface SupervisorOptions {
  store: AttemptStore;
  allocs: AllocDirs;
  sticky: StickyData;
  prestart: Pick<Prestart, "prepare">;
  devices: Pick<DeviceSource, "look">;
  drivers: (ended: OnTaskEnd) => Drivers;
  /** The snapshots of the control plane; undefined before the host has joined, or without a bucket. */
  snapshots: () => Snapshots | undefined;
  stateDir: string;
  /** Marks every process of this host (`DROVER_INSTANCE`). */
  instance: string | undefined;
  /** Processes can escape a kill here (`Means`). */
  escapes: boolean;
  /** Puts the agent with this digest into this agent's file. Never rejects. */
  replaceAgent: (sha256: string) => Promise<HostEvent>;
  /** How much later the control plane's clock is than that of this machine, as far as known. */
  clockErrorMs: () => Millis;
  /** The command that asks the provider whether it will take the machine back. */
  noticeCommand: string | undefined;
  secrets: Pick<TaskSecrets, "ended" | "forget" | "keepRuns">;
  /** The secret values that must not leave this machine in the output of a run's attempts. */
  secretsOf: SecretsOf;
  /** The time since the boot of this machine. */
  now: () => Instant;
  /** Called with events that are not the result of a call: output and exits. */
  tell: (event: HostEvent) => void;
}

/**
 * Carries out messages, and decides nothing. Messages about an attempt go through the driver of its task.
 * Messages for one attempt are carried out in their order, so that a kill never overtakes the start before
 * it.
 */
export class Supervisor {
  readonly streams: Streams;
  readonly #maskers: Maskers;
  readonly #options: SupervisorOptions;
  readonly #drivers: Drivers;
  readonly #checker: Checker;
  /** The driver that has started or recovered an attempt. */
  readonly #owners = new Map<string, Driver>();
  readonly #queues = new Map<string, Promise<unknown>>();
  /** The messages in flight, by their keys: starts and transfers can be aborted. */
  readonly #inFlight = new Map<string, { kind: string; stop: AbortController }>();
  /** By attempt: what is being started in its place. */
  readonly #entering = new Map<string, AbortController>();

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#maskers = new Maskers(options.secretsOf);
    this.streams = new Streams(options.store, this.#maskers, options);
    this.#drivers = options.drivers((id, end) => this.#reportEnd(id, end));
    const enter: CheckerOptions["enter"] = (id, start) => this.enter(id, () => undefined, start);
    this.#checker = new Checker({
      host: hostMark(options.stateDir),
      now: options.now,
      enter,
      addressOf: (id) => addressIn(this.#owners.get(id), id),
      isAway: (id) => this.#owners.get(id)?.isAway?.(id) === true,
    });
  }

  /**
   * Recovers an attempt of an earlier start of the agent (host-protocol.md#survives). Without a journal from
   * this boot, the attempt's files are not trusted: pid and start time identify a process only within one
   * boot. Undefined: the agent died before the task began, so the next orders may start the attempt. Events
   * of the attempt come after this call.
   */
  recover(id: string, journal: AttemptJournal | "other boot" | undefined): FoundAttempt | undefined {
    if (journal === "other boot") return { id, main: { kind: "rebooted" } };
    for (const driver of Object.values(this.#drivers)) {
      const main = journal && driver.recover(id, journal);
      if (main === undefined) continue;
      if (main.kind === "unbegun") {
        void this.#inOrder(id, () => this.#withoutSecrets(id));
        return undefined;
      }
      this.#owners.set(id, driver);
      this.streams.watch(id);
      return { id, journal, main };
    }
    this.streams.watch(id);
    return { id, main: { kind: "lost" } };
  }

  /**
   * Carries out a message, and resolves with the event that confirms it (`HostMessage`). Undefined if the
   * message is already in flight. A kill aborts the start of its attempt, and what waits to enter its place.
   */
  perform(message: LocalMessage): Promise<HostEvent> | undefined {
    const key = keyOf(message);
    if (this.#inFlight.has(key)) return undefined;
    if (message.kind === "kill_tree") {
      for (const kind of ["prepare", "start"]) this.#inFlight.get(`${kind} ${message.to}`)?.stop.abort();
    }
    if (message.kind === "kill_tree" || message.kind === "end_hold") this.#entering.get(message.to)?.abort();
    const stop = new AbortController();
    this.#inFlight.set(key, { kind: message.kind, stop });
    // Placements of a run can share data, so they share a queue. No attempt has the id of a run.
    const queue = "placement" in message ? runOf(message.placement) : message.to;
    const done = this.#inOrder(queue, async () => this.#masked(await this.#act(message, stop.signal)));
    return done.finally(() => this.#inFlight.delete(key));
  }

  /** Aborts the transfers that are no longer due. */
  keepTransfers(due: readonly HostMessage[]): void {
    const keys = new Set(due.map(keyOf));
    for (const [key, { kind, stop }] of this.#inFlight) {
      if (TRANSFERS.includes(kind) && !keys.has(key)) stop.abort();
    }
  }

  /**
   * Starts something beside the main process of an attempt, or in what is kept of an ended one. False: there
   * is no such place (any more). `keptTask`: the task of an attempt that is kept now.
   *
   * This has its turn among the messages for the attempt: the next kill finds what `start` has started, and
   * nothing starts behind the kill that ends a hold (tasks.md#kept-4). No kill waits for the look-up of a
   * user.
   */
  enter(
    id: string,
    keptTask: () => TaskSpec | undefined,
    start: (inside: Inside) => Promise<void>,
  ): Promise<boolean> {
    return this.#inOrder(id, async () => {
      const stop = new AbortController();
      this.#entering.set(id, stop);
      try {
        const inside = await this.#placeOf(id, keptTask(), stop.signal);
        if (inside === undefined || stop.signal.aborted) return false;
        await start(inside);
        return true;
      } catch (error) {
        if (stop.signal.aborted) return false;
        throw error;
      } finally {
        this.#entering.delete(id);
      }
    });
  }

  async #placeOf(id: string, kept: TaskSpec | undefined, stop: AbortSignal): Promise<Inside | undefined> {
    if (kept !== undefined) return this.#drivers[driverOf(kept)].insideKept(id, kept, stop);
    return this.#owners.get(id)?.inside(id);
  }

  /** Drops the secret values of all runs but these, of which this host still has something. */
  keepRuns(runs: ReadonlySet<string>): void {
    this.#options.secrets.keepRuns(runs);
    this.#maskers.keepRuns(runs);
  }

  async #act(message: LocalMessage, stop: AbortSignal): Promise<HostEvent> {
    const { store, allocs, stateDir, instance, noticeCommand } = this.#options;
    switch (message.kind) {
      case "prepare":
      case "start":
        return this.#startStep(message, stop);
      case "signal":
        await this.#owners.get(message.id)?.signal(message.id, message.signal);
        return { type: "signaled", id: message.id };
      case "pass_on":
        return this.#passOn(message);
      case "kill_tree":
        return this.#kill(message);
      case "end_hold": {
        const event = await this.#kill(message);
        return event.type === "tree_gone" ? { type: "hold_ended", id: message.id } : event;
      }
      case "forget":
        // The output first: until it is gone, it must be masked after a crash, too.
        await store.forget(message.id);
        this.streams.forget(message.id);
        this.#checker.forget(message.id);
        await this.#options.secrets.forget(message.id);
        return { type: "forgotten", id: message.id };
      case "collect":
      case "begin":
      case "save":
        return this.#transfer(message, stop);
      case "clear":
        return this.#clear(message.placement);
      case "drop":
        await allocs.clear(allocs.keptRootOf(message.placement));
        return { type: "cleared", placement: message.placement };
      case "check": {
        const { id, check } = message;
        return { type: "checked", id, name: check.name, result: await this.#checker.try(message, stop) };
      }
      case "punch":
        return punchLog(message, this.streams.fileOf(message.id, message.stream));
      case "sample":
        return { type: "sampled", host: measureHost(), attempts: this.#measure(message.ids) };
      case "probe": {
        const outcome = await runBootProbe(message.command, join(stateDir, "boot-probe.log"), instance);
        return { type: "probed", ...outcome };
      }
      case "fetch_agent":
        return this.#options.replaceAgent(message.sha256);
      case "inspect":
        return { type: "inspected", fault: await inspectMachine(stateDir, this.#options.clockErrorMs()) };
      case "look_at_devices":
        return { type: "devices_seen", seen: await this.#options.devices.look() };
      case "look":
        return { type: "noticed", raw: await lookForNotice(stateDir, noticeCommand, instance) };
    }
  }

  /**
   * Deletes the directories of an ended placement. Where a kill is best effort, a process may have escaped
   * it, and still runs in them.
   */
  async #clear(placement: string): Promise<HostEvent> {
    const { allocs, sticky, escapes } = this.#options;
    const root = allocs.rootOf(placement);
    const holder = escapes ? holdersOf(root) : undefined;
    if (holder !== undefined) return { type: "held_on", placement, holder };
    try {
      if (await sticky.keep(placement)) return { type: "kept", placement };
      await allocs.clear(root);
      return { type: "cleared", placement };
    } catch (error) {
      return { type: "held_on", placement, holder: holdersOf(root) ?? errorText(error) };
    }
  }

  /** Prepares or starts an attempt; a kill can abort both steps. An attempt is started only once. */
  async #startStep(
    { kind, id, task }: MessageOf<"prepare" | "start">,
    stop: AbortSignal,
  ): Promise<HostEvent> {
    const refused: HostEvent = { type: "refused", id };
    if (stop.aborted) return refused;
    try {
      if (kind === "prepare") {
        return { type: "prepared", id, ...(await this.#options.prestart.prepare(id, task, stop)) };
      }
      if (!this.#options.store.claim(id)) return refused;
      const driver = this.#drivers[driverOf(task)];
      this.#owners.set(id, driver);
      this.streams.stamp(id);
      const by = await driver.start(id, task, stop);
      this.streams.follow(id);
      return by === undefined ? refused : { type: "launched", id, by };
    } catch (error) {
      if (kind === "prepare" && stop.aborted) return refused;
      return { type: "launch_failed", id, startError: startErrorOf(error) };
    }
  }

  /**
   * Passes a signal on to the main process. The event comes first: an agent that dies in between may lose a
   * signal, but never sends one twice.
   */
  async #passOn({ id, n, signal }: MessageOf<"pass_on">): Promise<HostEvent> {
    const event: HostEvent = { type: "passing_on", id, n };
    await this.#owners.get(id)?.signal(id, signal, () => this.#options.tell(event));
    return event;
  }

  async #transfer(message: MessageOf<"collect" | "begin" | "save">, signal: AbortSignal): Promise<HostEvent> {
    const { allocs, sticky, snapshots } = this.#options;
    try {
      signal.throwIfAborted();
      switch (message.kind) {
        case "collect": {
          const { id, globs } = message;
          const place = { dirs: allocs.of(id), snapshots: snapshots(), signal };
          return { type: "collected", id, outputs: await collectOutputs(globs, place) };
        }
        case "begin": {
          const { placement, from } = message;
          return { type: "begun", placement, from, data: await sticky.begin(message, snapshots(), signal) };
        }
        case "save": {
          const { placement } = message;
          return { type: "saved", placement, outcome: await sticky.save(placement, snapshots(), signal) };
        }
      }
    } catch (error) {
      if (signal.aborted) return { type: "tick" };
      throw error;
    }
  }

  /** Measures the usage of these attempts, each by its driver. */
  #measure(ids: string[]): Record<string, RawUsage> {
    const drivers = Object.values(this.#drivers);
    const ownedBy = (driver: Driver) => ids.filter((id) => this.#owners.get(id) === driver);
    return Object.assign({}, ...drivers.map((driver) => driver.usage(ownedBy(driver))));
  }

  /** Kills an attempt and bans its id. If its driver is not known, any driver may have started it. */
  async #kill({ id, waitMs }: MessageOf<"kill_tree" | "end_hold">): Promise<HostEvent> {
    this.#options.store.ban(id);
    const owner = this.#owners.get(id);
    let killed = false;
    let peaks: Peaks | undefined;
    for (const driver of owner === undefined ? Object.values(this.#drivers) : [owner]) {
      const outcome = await driver.kill(id, waitMs);
      if (outcome.alive !== undefined) return { type: "kill_failed", id, error: outcome.alive };
      killed ||= outcome.killed;
      peaks ??= outcome.peaks;
    }
    await this.#options.secrets.ended(id);
    this.streams.unwatch(id);
    this.#owners.delete(id);
    return { type: "tree_gone", id, killed, ...(peaks === undefined ? {} : { peaks }) };
  }

  /** The attempt has not begun. If it is started again, it gets its secrets again. */
  async #withoutSecrets(id: string): Promise<HostEvent> {
    await this.#options.secrets.forget(id);
    return { type: "tick" };
  }

  #reportEnd(id: string, end: TaskEnd): void {
    this.streams.look(id);
    const { tell } = this.#options;
    if ("startError" in end) tell(this.#masked({ type: "launch_failed", id, startError: end.startError }));
    else tell({ type: "exited", id, exit: "exit" in end ? end.exit : null });
  }

  /**
   * The event with secrets masked, so that it may leave this machine and enter the journal
   * (redaction.md#texts).
   */
  #masked(event: HostEvent): HostEvent {
    const mask = (of: string, text: string) => this.#maskers.maskText(of, text);
    return withMaskedTexts(event, { ofAttempt: mask, ofPlacement: mask });
  }

  /** Carries out calls with the same id one after the other. */
  #inOrder<Result>(id: string, act: () => Promise<Result>): Promise<Result> {
    const before = this.#queues.get(id) ?? Promise.resolve();
    const done = before.then(act);
    const settled = done
      .catch(() => undefined)
      .then(() => {
        if (this.#queues.get(id) === settled) this.#queues.delete(id);
      });
    this.#queues.set(id, settled);
    return done;
  }
}

/** At most one message with the same key is in flight. */
export function keyOf({ kind, to }: HostMessage): string {
  return `${kind} ${to}`;
}
