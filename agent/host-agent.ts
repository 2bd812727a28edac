// How does the agent carry out the decisions of its state machine?
import type { TaskSpec } from "../src/schema/run/run.ts";
import { check, type Instant, type Millis } from "../src/shared/machine.ts";
import { errorText } from "../src/shared/words.ts";
import { type Awake, watchSleep } from "./awake.ts";
import { isKept } from "./core/attempts/hold.ts";
import { runsOf } from "./core/attempts/placements.ts";
import { LONGEST_TIMER_MS } from "./core/bounds.ts";
import type { Device } from "./core/devices/device.ts";
import { deviceVariables } from "./core/devices/environment.ts";
import { usableDevices } from "./core/devices/looks.ts";
import type { EventOf, HostEvent } from "./core/events.ts";
import { hostMachine } from "./core/host.ts";
import { isFree } from "./core/lease.ts";
import type { HostMessage } from "./core/messages.ts";
import type { HostState } from "./core/types.ts";
import { keyOf, type LocalMessage, type Supervisor } from "./exec/supervisor.ts";
import type { Journal } from "./journal.ts";
import type { ControlPlane } from "./plane/control-plane.ts";
import { Exchange } from "./plane/exchange.ts";
import { SecretSource } from "./plane/secrets.ts";
import { Snapshots } from "./plane/snapshots.ts";
import { say } from "./say.ts";
import type { Tunnels } from "./tunnels/tunnels.ts";

/** The shortest timer. It prevents a tight loop while a message that is due waits for a message in flight. */
const SHORTEST_TIMER_MS: Millis = 5;

/** Two moments that are no further apart need one timer: instants are whole milliseconds. */
const SAME_MOMENT_MS: Millis = 1;

/** One step in this many is checked (shell.md#assertions). */
const CHECK_EVERY = Number(process.env.DROVER_CHECK_EVERY || 64);

export interface HostAgentOptions {
  now: () => Instant;
  supervisor: Supervisor;
  tunnels: Tunnels;
  /** Stores the state that outlives this process. */
  keep: Journal["keep"];
  /**
   * The file that `drover up` writes while it is awake; undefined: the control plane is on another machine.
   */
  awakeFile: string | undefined;
  /** Ends this process. With `powerOff`, also powers off the machine, if the machine can do that. */
  exit: (code: number, reason: string, powerOff: boolean) => void;
}

/**
 * The shell around the host's state machine. It applies an event, writes the journal, carries out what is
 * due, and sets one timer. It decides nothing. After a crash, the state of the next start makes lost work due
 * again.
 */
export class HostAgent {
  readonly #options: HostAgentOptions;
  #state: HostState;
  /** Undefined before this host has joined. */
  #exchange: Exchange | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer ends, on Node's clock, which stands still in sleep as timers do. */
  #timerEndsAt = Number.NaN;
  /** Whether the journal is complete. */
  #journaled = true;
  #steps = 0;
  #violations = 0;
  readonly #awake: Awake;

  constructor(state: HostState, options: HostAgentOptions) {
    this.#state = state;
    this.#options = options;
    this.#awake = watchSleep(options.awakeFile, options.now, () => this.tell({ type: "tick" }));
  }

  /** Begins to report. */
  connect(plane: ControlPlane, event: EventOf<"joined">): void {
    const { supervisor, tunnels } = this.#options;
    const around = { streams: supervisor.streams, tunnels };
    this.#exchange = new Exchange(plane, around, (heard) => this.tell(heard));
    this.tell(event);
  }

  /** The id of this host's worker, once it has joined. */
  get worker(): string | undefined {
    return this.#state.setup?.worker;
  }

  /** How much later the control plane's clock is than that of this machine, as far as known. */
  get clockErrorMs(): Millis {
    return this.#exchange?.plane.clockErrorMs ?? 0;
  }

  /** Whether the main process of an attempt runs. */
  isRunning(attempt: string): boolean {
    return this.#state.attempts[attempt]?.main === "running";
  }

  /** The task of an ended attempt of which this host keeps what is left; undefined: it keeps nothing. */
  keptTask(attempt: string): TaskSpec | undefined {
    const known = this.#state.attempts[attempt];
    return known !== undefined && isKept(known) ? known.hold?.task : undefined;
  }

  /** The devices that an attempt was given, for a driver that passes them on (devices.md#containers). */
  givenDevices(attempt: string): readonly Device[] {
    const { devices } = this.#state.attempts[attempt] ?? {};
    return Array.isArray(devices) ? devices : [];
  }

  /** The variables that tell an attempt which devices it has. */
  devicesOf(attempt: string): Record<string, string> {
    return deviceVariables(this.#state.devices, this.#state.attempts[attempt] ?? {});
  }

  /**
   * Looks at the devices of this machine for the first time. Later looks follow by themselves. Returns how
   * many can be used; undefined: nothing on this machine names devices.
   */
  async countDevices(): Promise<number | undefined> {
    const event = await this.#options.supervisor.perform({ kind: "look_at_devices", to: "devices" });
    if (event !== undefined) this.tell(event);
    return usableDevices(this.#state);
  }

  /** Whether this machine may become the host of another worker. */
  get isFree(): boolean {
    return isFree(this.#state, this.#options.now());
  }

  /** The snapshots of the control plane, if it has any. */
  get snapshots(): Snapshots | undefined {
    const url = this.#state.setup?.snapshotsUrl;
    return this.#exchange && url !== undefined ? new Snapshots(this.#exchange.plane, url) : undefined;
  }

  /** The secrets of attempts; undefined before this host has joined, or if it has enrolled without a key. */
  get secrets(): SecretSource | undefined {
    const { secretsUrl, worker } = this.#state.setup ?? {};
    if (this.#exchange === undefined || secretsUrl === undefined || worker === undefined) return undefined;
    return new SecretSource(this.#exchange.plane, secretsUrl, worker);
  }

  /** Applies an event, and then carries out what is due. */
  tell(event: HostEvent): void {
    const at = this.#options.now();
    const sleep = this.#awake(at);
    // A sleep is applied first: it may extend a lease that has ended meanwhile.
    if (sleep !== undefined) this.#apply({ type: "slept", ...sleep }, at);
    this.#apply(event, at);
    const due = hostMachine.due(this.#state, at);
    this.#options.supervisor.keepTransfers(due);
    for (const message of due) this.#carry(message, at);
    this.#options.tunnels.look();
    this.#arm(at);
  }

  /** Applies an event and writes the journal. Nothing that follows from the event is done before that. */
  #apply(event: HostEvent, at: Instant): void {
    const before = this.#state;
    this.#state = hostMachine.apply(before, event, at);
    const isCleared = event.type === "cleared" || event.type === "kept";
    if (isCleared) this.#options.supervisor.keepRuns(runsOf(this.#state));
    this.#steps += 1;
    const violations = this.#steps % CHECK_EVERY === 0 ? check(hostMachine, before, this.#state, at) : [];
    // Even a broken state is kept: a wrong state can be mended, but a lost one cannot.
    this.#journaled = this.#options.keep(this.#state);
    for (const { rule, what } of violations) {
      this.#violations += 1;
      say(`invariant_violated (${this.#violations} so far) ${rule}: ${what}`);
    }
  }

  /** Carries out one message. Messages for the control plane are not due before this host has joined. */
  #carry(message: HostMessage, at: Instant): void {
    switch (message.kind) {
      case "report":
        this.#apply({ type: "report_sent", seq: message.seq }, at);
        this.#exchange?.send(message);
        break;
      case "connect":
        this.#apply({ type: "socket_opening" }, at);
        this.#exchange?.connect(message);
        break;
      case "hang_up":
        this.#exchange?.hangUp();
        break;
      case "ship_log": {
        const { id, stream, from, bytes } = message;
        this.#apply({ type: "chunk_sent", id, stream, from, bytes }, at);
        this.#exchange?.ship(message);
        break;
      }
      case "exit":
        this.#options.exit(message.code, message.reason, message.powerOff);
        break;
      default:
        if (this.#journaled || !mustBeJournaled(message)) this.#perform(message);
    }
  }

  #perform(message: LocalMessage): void {
    this.#options.supervisor.perform(message)?.then(
      (event) => this.tell(event),
      (error: unknown) => {
        // The message stays due, so the next event makes it run again. An answer to a report is such an
        // event.
        say(`${keyOf(message)} has failed, and will be retried: ${errorText(error)}`);
      },
    );
  }

  #arm(at: Instant): void {
    const wakeAt = hostMachine.wakeAt(this.#state);
    const leftMs = wakeAt === undefined ? Number.NaN : Math.max(SHORTEST_TIMER_MS, wakeAt - at);
    const delayMs = Math.min(LONGEST_TIMER_MS, leftMs);
    const endsAt = performance.now() + delayMs;
    if (Math.abs(endsAt - this.#timerEndsAt) <= SAME_MOMENT_MS) return;
    clearTimeout(this.#timer);
    this.#timerEndsAt = endsAt;
    if (wakeAt === undefined) return;
    this.#timer = setTimeout(() => {
      this.#timerEndsAt = Number.NaN;
      this.tell({ type: "tick" });
    }, delayMs);
  }
}

/**
 * Whether the journal must have what a message follows from. A signal could be sent twice otherwise, and a
 * device could be given to two attempts (devices.md#assignment).
 */
function mustBeJournaled(message: LocalMessage): boolean {
  if (message.kind === "prepare" || message.kind === "start") return message.task.resources.gpus > 0;
  return message.kind === "pass_on";
}
