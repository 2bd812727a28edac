import fc from "fast-check";
import { expect, test } from "vitest";
import { type FoundAttempt, journalOf } from "../../../../agent/core/journal.ts";
import type { HostMessage } from "../../../../agent/core/messages.ts";
import type { AttemptState } from "../../../../agent/core/types.ts";
import { sized } from "../../../chance/length.ts";
import { Driven, EXIT, run, SETUP } from "../drive.ts";
import { failing, gpu, NO_SOURCE, needs, seen } from "./gpus.ts";

const IDS = ["a/main/1.1", "b/main/1.1", "c/main/1.1", "d/main/1.1"];

type Step =
  | { do: "order"; wanted: { id: string; gpus: number; keep: boolean }[] }
  | { do: "see"; event: ReturnType<typeof seen> | ReturnType<typeof failing> | typeof NO_SOURCE }
  | { do: "perform"; works: boolean }
  | { do: "end main"; id: string }
  | { do: "kill agent"; loses: "nothing" | "a journal"; id: string }
  | { do: "pass"; ms: number };

const id = fc.constantFrom(...IDS);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant("order" as const),
    wanted: fc.uniqueArray(fc.record({ id, gpus: fc.constantFrom(0, 1, 1, 1, 2), keep: fc.boolean() }), {
      selector: (one) => one.id,
    }),
  }),
  fc.record({
    do: fc.constant("see" as const),
    event: fc.constantFrom(
      ...[seen(gpu("g0"), gpu("g1")), seen(gpu("g0"), gpu("g1"))],
      seen(gpu("g0"), gpu("g1"), gpu("g2")),
      seen(gpu("g1", { healthy: false }), gpu("g0")),
      seen(),
      failing(),
      NO_SOURCE,
    ),
  }),
  { weight: 5, arbitrary: fc.record({ do: fc.constant("perform" as const), works: fc.boolean() }) },
  fc.record({ do: fc.constant("end main" as const), id }),
  fc.record({
    do: fc.constant("kill agent" as const),
    loses: fc.constantFrom("nothing" as const, "nothing" as const, "a journal" as const),
    id,
  }),
  fc.record({ do: fc.constant("pass" as const), ms: fc.constantFrom(1, 20_000) }),
);

/** What the first look of an agent finds. */
const beginning = fc.constantFrom(seen(gpu("g0"), gpu("g1")), seen(gpu("g0")), NO_SOURCE);

/** A machine: which processes live there, which ids were started, and what the journal says. */
class Machine {
  host = this.joined(new Driven());
  /** By attempt: the devices that its processes use. */
  readonly alive = new Map<string, AttemptState["devices"]>();
  readonly claimed = new Set<string>();
  readonly lost = new Set<string>();

  joined(host: Driven): Driven {
    return host.tell({ type: "joined", setup: SETUP }).tell({ type: "probed", ok: true, output: "" });
  }

  take(one: Step): void {
    switch (one.do) {
      case "order":
        this.host.order(
          one.wanted.map(({ id: of, gpus, keep }) => run(of, { task: needs(gpus, keep ? { keep } : {}) })),
        );
        return;
      case "see":
        this.host.tell(one.event);
        return;
      case "perform":
        for (const message of this.host.due()) this.#perform(message, one.works);
        return;
      case "end main":
        if (this.alive.has(one.id))
          this.host.tell({ type: "exited", id: one.id, exit: { ...EXIT, code: 1 } });
        return;
      case "kill agent":
        if (one.loses === "a journal" && this.claimed.has(one.id)) this.lost.add(one.id);
        this.#restart();
        return;
      case "pass":
        this.host.pass(one.ms);
    }
  }

  #perform(message: HostMessage, works: boolean): void {
    const { host, alive, claimed } = this;
    switch (message.kind) {
      case "start": {
        if (claimed.has(message.id)) {
          host.tell({ type: "refused", id: message.id });
          return;
        }
        claimed.add(message.id);
        const { devices } = host.state.attempts[message.id] ?? {};
        if (devices !== undefined) this.#expectAlone(devices);
        alive.set(message.id, devices);
        // Else the agent dies before it hears of it.
        if (works) host.tell({ type: "launched", id: message.id, by: "processes" });
        else this.#restart();
        return;
      }
      case "kill_tree":
      case "end_hold": {
        if (!works) {
          host.tell({ type: "kill_failed", id: message.id, error: "it lives" });
          return;
        }
        alive.delete(message.id);
        if (message.kind === "end_hold") host.tell({ type: "hold_ended", id: message.id });
        else host.tell({ type: "tree_gone", id: message.id, killed: true });
        return;
      }
      case "forget":
        host.tell({ type: "forgotten", id: message.id });
    }
  }

  /** Nobody may use any device beside those who were given theirs. */
  #expectAlone(devices: NonNullable<AttemptState["devices"]>): void {
    const others = [...this.alive.values()];
    expect(others.filter((one) => (devices === "any" ? Array.isArray(one) : one === "any"))).toEqual([]);
  }

  /** The next start of the agent finds what was started, with its journal unless that is lost. */
  #restart(): void {
    const { attempts } = this.host.state;
    const found = [...this.claimed].flatMap((one): FoundAttempt[] => {
      const known = attempts[one];
      if (known === undefined) return [];
      if (this.lost.has(one)) return [{ id: one, main: { kind: "lost" } }];
      const main = this.alive.has(one) && known.main !== "over" ? ("running" as const) : ("lost" as const);
      return [{ id: one, journal: JSON.parse(JSON.stringify(journalOf(known))), main: { kind: main } }];
    });
    const next = new Driven({ attempts: found, lease: { until: this.host.now + 1e6, ms: 1e6 } });
    next.revision = this.host.revision;
    next.pass(Math.max(0, this.host.now - next.now));
    this.host = this.joined(next);
  }
}

// devices.md#exclusive, devices.md#restart
test("no device is ever used by processes of two attempts, whenever the agent is killed", () => {
  fc.assert(
    fc.property(beginning, fc.array(step, { minLength: 10, maxLength: 60 }), (first, steps) => {
      const machine = new Machine();
      machine.take({ do: "see", event: first });
      for (const one of steps) {
        machine.take(one);
        const used = [...machine.alive.values()].flatMap((devices) =>
          Array.isArray(devices) ? devices : [],
        );
        const ids = used.map((device) => device.id);
        expect(new Set(ids).size).toBe(ids.length);
      }
    }),
    { numRuns: sized(2_000, 20_000) },
  );
});
