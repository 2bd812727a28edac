import { Rows } from "../../src/core/rows.ts";
import { Actor } from "../../src/objects/actor.ts";
import type { Envelope, Instant, Machine } from "../../src/shared/machine.ts";
import { wakesOnceAStep } from "./once-a-step.ts";
import { Table } from "./table.ts";
import { Faulted, NoReply, type World } from "./world.ts";

/**
 * What survives the process of an object: its value, its tables, its alarm. Rows and values are never changed
 * in place.
 */
export interface Disk<Value> {
  value: Value | null;
  tables: Map<string, Map<string, unknown>>;
  alarm: number | undefined;
}

class SimCrash extends Faulted {}

/** What an object is made of: the real machine, and how its state is loaded, stored and what it sends. */
export interface Wiring<Value, State, Event, Message extends Envelope> {
  machine: Machine<State, Event, Message>;
  load(disk: Disk<Value>, alarmAt: Instant | null): State;
  save(disk: Disk<Value>, state: State): void;
  send(message: Message): Promise<Event>;
  /** What the object does when its alarm fires, if that is more than a tick. */
  woken?(actor: Actor<State, Event, Message>): Promise<void>;
  /** A process of the object begins; one has died. */
  started?(actor: Actor<State, Event, Message>, alive: () => boolean): void;
  died?(): void;
  /** Looks at what has just been stored. */
  stored(before: Value | null, after: Value | null): void;
}

/** An object that has nothing to do for this long is dropped from memory. */
const EVICTED_AFTER_MS = 10_000;

/** How often an alarm that fails is delivered again (platform.md#alarms). */
const ALARM_RETRY_MS = 2_000;
const ALARM_TRIES = 6;

/**
 * An object: the real shell around the real machine, over a fake disk and alarm, whose process can die at any
 * commit.
 */
export class Node<Value, State, Event extends { type: string }, Message extends Envelope> {
  readonly name: string;
  readonly disk: Disk<Value> = { value: null, tables: new Map(), alarm: undefined };
  readonly #tables = new Map<string, unknown>();
  readonly #world: World;
  readonly #wiring: Wiring<Value, State, Event, Message>;
  readonly #tick: Event;
  #actor: Actor<State, Event, Message> | undefined;
  /** Counts the processes that this object has had: what an earlier one still does has no effect. */
  #life = 0;

  /** Which process of the object this is: each has another number. */
  get life(): number {
    return this.#life;
  }

  #dying = false;
  #firing = false;
  #alarmTries = 0;
  /**
   * Requests that are being served, and messages that are on their way: while there are any, it is not
   * evicted.
   */
  #busy = 0;
  #usedAt = 0;

  constructor(world: World, name: string, tick: Event, wiring: Wiring<Value, State, Event, Message>) {
    this.#world = world;
    this.name = name;
    this.#tick = tick;
    this.#wiring = wiring;
  }

  get actor(): Actor<State, Event, Message> {
    // The platform drops an idle object from memory, and nobody is told (platform.md#lifetime).
    const idle = this.#busy === 0 && this.#world.now - this.#usedAt >= EVICTED_AFTER_MS;
    if (idle) this.#actor = undefined;
    this.#usedAt = this.#world.now;
    this.#actor ??= this.#start();
    return this.#actor;
  }

  /** Its state, if it is in memory. Nobody is woken by a look. */
  peek(): State | undefined {
    return this.#dying ? undefined : this.#actor?.state;
  }

  /** Serves a request. Whoever asked gets no reply if the process dies before it is ready. */
  async serve<Reply>(
    handle: (actor: Actor<State, Event, Message>) => Reply | Promise<Reply>,
  ): Promise<Reply> {
    if (this.#world.now < this.#world.awayUntil) throw new NoReply(`${this.name} is away`);
    const life = this.#life;
    const { actor } = this;
    this.#busy += 1;
    try {
      const reply = await handle(actor);
      if (life === this.#life && !this.#dying) return reply;
    } catch (error) {
      this.#judge(error);
    } finally {
      if (life === this.#life) this.#leave();
    }
    this.bury();
    throw new NoReply(this.name);
  }

  /** Whatever is thrown, but for what a fault leads to, is a fault of ours. */
  #judge(error: unknown): void {
    if (error instanceof SimCrash || error instanceof NoReply) return;
    this.#world.violated(`${this.name} threw: ${describe(error)}`, this.name);
  }

  #leave(): void {
    this.#busy -= 1;
    this.#usedAt = this.#world.now;
  }

  /** A table on the disk, as the machine sees it. */
  rows<Row>(name: string, isLive: (row: Row) => boolean, tracked: (keyof Row & string)[] = []): Rows<Row> {
    return new Rows(this.#table<Row>(name), isLive, tracked);
  }

  /** The highest key of the ended rows of a table. */
  lastEnded(name: string): string | undefined {
    return this.#table(name).lastEnded;
  }

  /** Sets who is told of the key of each row that is written or removed. */
  watchTable(name: string, watcher: (key: string) => void): void {
    this.#table(name).watcher = watcher;
  }

  #table<Row>(name: string): Table<Row> {
    const known = this.#tables.get(name) as Table<Row> | undefined; // only this table's machine writes it
    if (known !== undefined) return known;
    const table = new Table<Row>(new Map());
    this.#tables.set(name, table);
    this.disk.tables.set(name, table.rows);
    return table;
  }

  /** The process dies now, between two events: what is not stored is forgotten. */
  kill(): void {
    this.#die();
    this.bury();
  }

  #die(): void {
    this.#dying = true;
    this.#world.dying.add(this);
  }

  /** Ends a process that has died in a commit. */
  bury(): void {
    if (!this.#dying) return;
    this.#world.tell(this.name, "its process dies");
    this.#dying = false;
    this.#life += 1;
    this.#busy = 0;
    this.#actor = undefined;
    this.#wiring.died?.();
  }

  #start(): Actor<State, Event, Message> {
    const life = this.#life;
    const alive = () => life === this.#life && !this.#dying;
    const { machine } = this.#wiring;
    // Pools and jobs ask their tables, which the step has changed once it is stored.
    const asksTables = machine.name === "pool" || machine.name === "job";
    const actor = new Actor(asksTables ? machine : wakesOnceAStep(machine), {
      now: () => this.#world.planeNow,
      load: () =>
        this.#wiring.load(this.disk, this.#firing ? this.#world.planeNow : (this.disk.alarm ?? null)),
      commit: (write) => this.#commit(alive, write),
      save: (state: State) => {
        const before = this.disk.value;
        this.#wiring.save(this.disk, state);
        this.#wiring.stored(before, this.disk.value);
      },
      wake: (at) => {
        if (life === this.#life) this.#arm(at); // with the commit: also if the process dies right after it
      },
      send: (message: Message) => this.#carry(alive, message),
      timer: (ms, happen) =>
        this.#world.time.after(ms, () => {
          if (alive()) happen();
        }),
      failed: () => undefined,
      isChecked: () => true,
      violated: (violations) => {
        for (const { machine, rule, what } of violations)
          this.#world.violated(`${signOf(rule)}: ${machine} ${this.name}: ${what}`, this.name);
      },
      unheard: (error) => this.#judge(error),
    });
    this.#wiring.started?.(actor, alive);
    return actor;
  }

  #commit(alive: () => boolean, write: () => void): void {
    if (!alive()) throw new SimCrash();
    if (this.#world.now < this.#world.readOnlyUntil) throw new SimCrash();
    const crash = this.#world.strikes("crash");
    if (crash && this.#world.chance.chance(0.5)) {
      this.#die();
      throw new SimCrash();
    }
    write();
    if (crash) this.#die(); // it was stored, and nothing of what follows is sent
  }

  /** What a dead process sends never leaves, and what comes back for it is not heard. */
  #carry(alive: () => boolean, message: Message): Promise<Event> {
    const never = new Promise<Event>(() => undefined);
    if (!alive()) return never;
    this.#busy += 1;
    return this.#wiring.send(message).then(
      (reply) => {
        if (!alive()) return never;
        this.#leave();
        return reply;
      },
      (error) => {
        if (!alive()) return never;
        this.#leave();
        throw error;
      },
    );
  }

  #arm(at: number): void {
    if (this.disk.alarm !== undefined && this.disk.alarm <= at) return;
    this.disk.alarm = at;
    this.#plan(at);
  }

  /** An alarm that keeps failing is given up: after that only a call wakes the object. */
  #retryAlarm(): void {
    this.#alarmTries += 1;
    if (this.#alarmTries <= ALARM_TRIES) {
      this.#arm(this.#world.planeNow + ALARM_RETRY_MS * 2 ** (this.#alarmTries - 1));
      return;
    }
    this.#alarmTries = 0;
    this.#world.tell(this.name, "its alarm is given up");
  }

  /** Whoever changes the clock plans the alarms anew: they are instants of that clock. */
  clockJumped(): void {
    if (this.disk.alarm !== undefined) this.#plan(this.disk.alarm);
  }

  #plan(at: number): void {
    const { awayUntil, planeAheadMs } = this.#world;
    // A moment later: what is added and taken away again may be less by a rounding.
    this.#world.time.at(Math.max(at - planeAheadMs + 0.01, awayUntil), () => {
      if (this.disk.alarm !== at) return;
      if (this.#world.planeNow < at || this.#world.now < this.#world.awayUntil) {
        this.#plan(at);
        return;
      }
      this.disk.alarm = undefined;
      if (this.#world.strikes("lostAlarm")) {
        this.#world.tell(this.name, "its alarm is lost");
        return;
      }
      this.#firing = true;
      const { woken = (actor) => actor.apply(this.#tick) } = this.#wiring;
      this.serve<unknown>(woken).then(
        () => {
          this.#alarmTries = 0;
        },
        () => this.#retryAlarm(),
      );
      this.#firing = false;
    });
  }
}

/** A rule as the audit names it: 4 of invariants, R2 of rules; others by their anchor. */
function signOf(rule: string): string {
  return rule.replace(/^rules.md#(invariant-)?/, "").toUpperCase();
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
