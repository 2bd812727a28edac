import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Pieces } from "../../src/shared/tunnel/channel.ts";
import {
  faultOfAsk,
  frameIn,
  MAX_CHANNELS,
  type TunnelAsk,
  type TunnelFrame,
  WINDOW_BYTES,
} from "../../src/shared/tunnel/frames.ts";
import { Link, MAX_UNHEARD_RESETS } from "../../src/shared/tunnel/link.ts";

// Bytes over connections that break: all arrive, in order, and none twice (tunnels.md#offsets).

/** One end, which notes what it hears. */
class End {
  readonly link: Link;
  readonly heard = new Map<number, Buffer[]>();
  readonly ended = new Set<number>();
  readonly sources = new Map<number, Pieces>();
  /** Frames on their way to the other end. */
  sent: TunnelFrame[] = [];
  readonly resets: number[] = [];
  uses = true;
  maySend = true;
  excesses = 0;

  constructor() {
    this.link = new Link({
      send: (frame) => this.sent.push(frame),
      data: (channel, bytes) => {
        this.heard.set(channel, [...(this.heard.get(channel) ?? []), Buffer.from(bytes)]);
        if (this.uses) this.link.used(channel, bytes.length);
      },
      end: (channel) => this.ended.add(channel),
      accept: (channel) => this.source(channel),
      reset: (channel) => this.resets.push(channel),
      maySend: () => this.maySend,
      excess: () => {
        this.excesses += 1;
      },
    });
  }

  source(channel: number): Pieces {
    const source = this.sources.get(channel) ?? new Pieces();
    this.sources.set(channel, source);
    return source;
  }

  textOf(channel: number): string {
    return Buffer.concat(this.heard.get(channel) ?? []).toString("latin1");
  }
}

/** Connects two ends anew: what was on its way is lost. */
function reconnect(a: End, b: End): void {
  for (const end of [a, b]) {
    end.link.cut();
    end.sent = [];
  }
  a.link.greet();
  b.link.greet();
}

/** Passes frames on, at most so many: whether any is left. */
function pass(a: End, b: End, most: number): boolean {
  let passed = 0;
  while (a.sent.length + b.sent.length > 0) {
    for (const [from, to] of [
      [a, b],
      [b, a],
    ] as const) {
      const frame = from.sent.shift();
      if (frame === undefined) continue;
      passed += 1;
      // Through text, as on the wire.
      const read = frameIn<TunnelFrame>(JSON.stringify(frame));
      if (read !== undefined) to.link.heard(read);
      if (passed >= most) return true;
    }
  }
  return false;
}

const CHANNEL = 0;

describe("two ends over connections that break", () => {
  it("exchange all bytes, in order and once, whenever the connection breaks", () => {
    const Step = fc.oneof(
      fc.record({
        kind: fc.constant("say" as const),
        from: fc.boolean(),
        bytes: fc.integer({ min: 1, max: 300_000 }),
      }),
      fc.record({ kind: fc.constant("pass" as const), frames: fc.integer({ min: 1, max: 20 }) }),
      fc.record({ kind: fc.constant("break" as const) }),
    );
    fc.assert(
      fc.property(fc.array(Step, { maxLength: 30 }), (steps) => {
        const [a, b] = [new End(), new End()];
        for (const end of [a, b]) end.link.open(CHANNEL, end.source(CHANNEL));
        const said = new Map<End, string>([a, b].map((end) => [end, ""]));
        reconnect(a, b);
        for (const step of steps) {
          if (step.kind === "break") reconnect(a, b);
          else if (step.kind === "pass") pass(a, b, step.frames);
          else {
            const end = step.from ? a : b;
            const so = said.get(end) ?? "";
            const text = Array.from({ length: step.bytes }, (_, i) =>
              String.fromCharCode((so.length + i) % 251),
            ).join("");
            said.set(end, so + text);
            end.source(CHANNEL).push(Buffer.from(text, "latin1"));
            end.link.pump();
          }
        }
        for (const end of [a, b]) end.source(CHANNEL).hasEnded = true;
        reconnect(a, b);
        pass(a, b, Infinity);
        expect(b.textOf(CHANNEL) === said.get(a)).toBe(true);
        expect(a.textOf(CHANNEL) === said.get(b)).toBe(true);
        expect([a.ended.has(CHANNEL), b.ended.has(CHANNEL)]).toEqual([true, true]);
      }),
      { numRuns: 60 },
    );
  });

  it("send no more than a window before the other end has used it", () => {
    const [a, b] = [new End(), new End()];
    for (const end of [a, b]) end.link.open(CHANNEL, end.source(CHANNEL));
    b.uses = false;
    reconnect(a, b);
    a.source(CHANNEL).push(Buffer.alloc(WINDOW_BYTES * 3));
    a.link.pump();
    pass(a, b, Infinity);
    expect(b.textOf(CHANNEL)).toHaveLength(WINDOW_BYTES);
    b.link.used(CHANNEL, WINDOW_BYTES);
    pass(a, b, Infinity);
    expect(b.textOf(CHANNEL)).toHaveLength(WINDOW_BYTES * 2);
  });

  it("go on after one end has begun anew, from what its earlier process has used", () => {
    const [client, host] = [new End(), new End()];
    for (const end of [client, host]) end.link.open(CHANNEL, end.source(CHANNEL));
    reconnect(client, host);
    client.source(CHANNEL).push(Buffer.from("hello, "));
    client.link.pump();
    pass(client, host, Infinity);
    const again = new End();
    again.link.open(CHANNEL, again.source(CHANNEL), "hello, ".length);
    client.source(CHANNEL).push(Buffer.from("world"));
    reconnect(client, again);
    pass(client, again, Infinity);
    expect(again.textOf(CHANNEL)).toBe("world");
  });

  it("open a channel on which nobody has said anything yet, also over a break", () => {
    const [client, host] = [new End(), new End()];
    reconnect(client, host);
    pass(client, host, Infinity);
    client.link.begin(1, client.source(1));
    reconnect(client, host);
    pass(client, host, Infinity);
    expect(host.sources.has(1)).toBe(true);
    host.source(1).push(Buffer.from("220 ready"));
    host.link.pump();
    pass(client, host, Infinity);
    expect(client.textOf(1)).toBe("220 ready");
  });

  it("take no frame for a channel that has been closed for a new one", () => {
    const [client, host] = [new End(), new End()];
    reconnect(client, host);
    pass(client, host, Infinity);
    client.link.begin(1, client.source(1));
    pass(client, host, Infinity);
    for (const end of [client, host]) {
      end.source(1).hasEnded = true;
      end.link.pump();
    }
    pass(client, host, Infinity);
    host.sources.clear();
    host.link.heard({ t: "data", c: 1, at: 0, d: "bGF0ZQ==" });
    expect([host.sources.has(1), host.textOf(1)]).toEqual([false, ""]);
    expect(host.sent).toContainEqual({ t: "ack", c: 1, at: 4 });
  });
});

describe("what is asked of a tunnel (tunnels.md#frames)", () => {
  const exec = (more: object): TunnelAsk => ({ kind: "exec", argv: ["sh"], input: false, ...more });
  it.each<[string, TunnelAsk, RegExp | undefined]>([
    ["a command", exec({}), undefined],
    ["no command", exec({ argv: [] }), /no command/],
    ["a zero byte", exec({ argv: ["a\0b"] }), /zero byte/],
    ["more words than fit", exec({ argv: ["sh", "x".repeat(70_000)] }), /64 KiB/],
    ["a terminal", exec({ terminal: { rows: 24, columns: 80, term: "xterm" } }), undefined],
    [
      "ten thousand columns",
      exec({ terminal: { rows: 24, columns: 10_000, term: "xterm" } }),
      /1 to 1000 .*10000 columns/,
    ],
    ["no rows", exec({ terminal: { rows: 0, columns: 80, term: "xterm" } }), /0 rows/],
    ["a port", { kind: "forward", port: 80 }, undefined],
    ["no port", { kind: "forward", port: 65_536 }, /1 to 65535/],
  ])("%s", (_what, ask, fault) => {
    if (fault === undefined) expect(faultOfAsk(ask)).toBeUndefined();
    else expect(faultOfAsk(ask)).toMatch(fault);
  });

  it.each(["", "{", "[]", "null", '"data"', "{}"])("%j is no frame", (text) => {
    expect(frameIn(text)).toBeUndefined();
  });
});

describe("a channel that is reset", () => {
  /** A client with a channel to a host, both connected. */
  function begun(): [End, End] {
    const [client, host] = [new End(), new End()];
    reconnect(client, host);
    client.link.begin(1, client.source(1));
    pass(client, host, Infinity);
    return [client, host];
  }

  it("is reset at the other end, once, and no byte comes after (tunnels.md#resets)", () => {
    const [client, host] = begun();
    host.source(1).push(Buffer.from("late"));
    client.link.reset(1);
    client.link.reset(1);
    host.link.pump();
    pass(client, host, Infinity);
    expect(host.resets).toEqual([1]);
    expect([client.resets, client.textOf(1), client.ended.size]).toEqual([[], "", 0]);
    // Both have forgotten it: nothing is said of it on the next connection.
    reconnect(client, host);
    expect([...client.sent, ...host.sent]).toEqual([
      { t: "hello", channels: {} },
      { t: "hello", channels: {} },
    ]);
  });

  it.each([0, 1])("is told again if the connection broke after %i frames (tunnels.md#resets)", (frames) => {
    const [client, host] = begun();
    client.link.reset(1);
    if (frames > 0) pass(client, host, frames);
    reconnect(client, host);
    pass(client, host, Infinity);
    expect(host.resets).toEqual([1]);
    reconnect(client, host);
    expect(client.sent).toEqual([{ t: "hello", channels: {} }]);
  });

  it("is one beyond the most that may be open, and those that are open go on (tunnels.md#resets)", () => {
    const [client, host] = [new End(), new End()];
    reconnect(client, host);
    for (let channel = 1; channel <= MAX_CHANNELS + 1; channel += 1) {
      client.link.begin(channel, client.source(channel));
    }
    pass(client, host, Infinity);
    expect(client.resets).toEqual([MAX_CHANNELS + 1]);
    expect(host.resets).toEqual([]);
    client.source(MAX_CHANNELS).push(Buffer.from("goes on"));
    client.link.pump();
    pass(client, host, Infinity);
    expect(host.textOf(MAX_CHANNELS)).toBe("goes on");
    // A place that is free again is taken by the next one.
    client.link.reset(1);
    client.link.begin(MAX_CHANNELS + 2, client.source(MAX_CHANNELS + 2));
    client.source(MAX_CHANNELS + 2).push(Buffer.from("next"));
    client.link.pump();
    pass(client, host, Infinity);
    expect(host.textOf(MAX_CHANNELS + 2)).toBe("next");
  });

  it("waits with its news for the pace, also on a new connection (tunnels.md#pace)", () => {
    const [client, host] = begun();
    host.maySend = false;
    host.link.reset(1);
    expect(host.sent).toEqual([]);
    reconnect(client, host);
    pass(client, host, Infinity);
    expect(client.resets).toEqual([]);
    host.maySend = true;
    host.link.pump();
    host.link.pump();
    expect(host.sent).toEqual([{ t: "reset", c: 1 }]);
    pass(client, host, Infinity);
    expect(client.resets).toEqual([1]);
  });

  it("is forgotten once the side that began it does not name it any more (tunnels.md#resets)", () => {
    const [client, host] = begun();
    host.link.reset(1);
    pass(client, host, 1); // the client knows, and what it says of that is lost
    reconnect(client, host);
    const [greeting] = client.sent;
    host.sent = [];
    if (greeting !== undefined) host.link.heard(greeting);
    expect([greeting, host.sent]).toEqual([{ t: "hello", channels: {} }, []]);
  });

  it("ends a tunnel whose other side opens channels and never hears of resets (tunnels.md#resets)", () => {
    const [, host] = begun();
    const most = MAX_CHANNELS + MAX_UNHEARD_RESETS;
    for (let channel = 2; channel <= most; channel += 1) {
      host.link.heard({ t: "data", c: channel, at: 0, d: "" });
    }
    expect(host.excesses).toBe(0);
    host.link.heard({ t: "data", c: most + 1, at: 0, d: "" });
    expect(host.excesses).toBe(1);
  });

  it("ends no tunnel whose other side hears of all resets, however many (tunnels.md#resets)", () => {
    const [client, host] = begun();
    for (let channel = 2; channel <= 10 * MAX_UNHEARD_RESETS; channel += 1) {
      client.link.begin(channel, client.source(channel));
      if (channel % MAX_CHANNELS !== 0) continue;
      pass(client, host, Infinity);
      for (const one of host.sources.keys()) host.link.reset(one);
      if (channel % 3 === 0) reconnect(client, host);
      pass(client, host, Infinity);
    }
    expect([host.excesses, client.excesses]).toEqual([0, 0]);
  });
});
