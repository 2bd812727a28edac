import { describe, expect, test } from "vitest";
import { EnrollRequest, JoinRequest, Report } from "../../../src/schema/host.ts";
import { MAX_TEXT_CHARS } from "../../../src/shared/limits.ts";

const least = { incarnation: 1, seq: 1, full: true, ordersSeen: 0, attempts: [] };
const START = "a-start-of-the-agent";
const attempt = { id: "a/main/1.1", state: "running" };
const exit = { code: 0, signal: null, oomKilled: false, message: "" };

/** The pointers of what is wrong with a report; none if it is taken. */
function faults(more: Record<string, unknown>): string[] {
  const { error } = Report.safeParse({ ...least, ...more });
  return [...new Set(error?.issues.map((issue) => issue.path.join("/")) ?? [])];
}
const ofAttempt = (more: object) => faults({ attempts: [{ ...attempt, ...more }] });
const logOf = (piece: object) => ofAttempt({ log: { stdout: { from: 0, size: 3, ...piece } } });

describe("a report is taken (host-protocol.md#report)", () => {
  test.each<[string, Record<string, unknown>]>([
    ["the least that there is", {}],
    ["no word on boot, broken and draining", { boot: null, broken: null, draining: null }],
    [
      "all that one attempt can say",
      {
        attempts: [
          {
            ...attempt,
            startedAgoMs: 0.5,
            endedAgoMs: 0,
            exit,
            timedOut: true,
            stopped: "lease",
            kill: { tries: 0, error: null, treeGone: true, by: "cgroup" },
            log: { stdout: { from: 0, size: 3, data: "YWJj" }, stderr: { from: 0, size: 0 } },
          },
        ],
      },
    ],
    [
      "very many attempts",
      { attempts: Array.from({ length: 10_000 }, (_, i) => ({ ...attempt, id: `r${i}/main/1.1` })) },
    ],
    ["what only a later agent says", { temperature: { host: {} }, stale: ["a"] }],
  ])("%s", (_what, more) => {
    expect(faults(more)).toEqual([]);
  });

  test("what is not known is dropped: N and N-1 understand each other (shell.md#shell)", () => {
    expect(Report.parse({ ...least, rumors: ["a"] })).toEqual(least);
  });
});

describe("a report is refused, and the refusal names the field", () => {
  test.each<[string, Record<string, unknown>, string]>([
    ["incarnation 0", { incarnation: 0 }, "incarnation"],
    ["number 0", { seq: 0 }, "seq"],
    ["half a number", { seq: 1.5 }, "seq"],
    ["a number beyond what can be counted", { seq: 2 ** 53 }, "seq"],
    ["orders that it cannot have seen", { ordersSeen: -1 }, "ordersSeen"],
    ["no word on whether it is full", { full: undefined }, "full"],
    ["too many attempts", { attempts: Array.from({ length: 10_001 }, () => attempt) }, "attempts"],
    ["no attempts", { attempts: undefined }, "attempts"],
  ])("%s", (_what, more, pointer) => {
    expect(faults(more)).toEqual([pointer]);
  });

  test.each<[string, object, string]>([
    ["an id that is none", { id: "a/main" }, "id"],
    ["an id of another form", { id: "A/main/1.1" }, "id"],
    ["a state that there is not", { state: "ordered" }, "state"],
    ["a start to come", { startedAgoMs: -1 }, "startedAgoMs"],
    ["an exit without a word on memory", { exit: { code: 0, signal: null, message: "" } }, "exit/oomKilled"],
    [
      "a start error that is the machinery's to say",
      { startError: { code: "machine_lost", text: "" } },
      "startError/code",
    ],
    ["a kill by other means", { kill: { tries: 1, error: null, treeGone: true, by: "magic" } }, "kill/by"],
  ])("of an attempt: %s", (_what, more, pointer) => {
    expect(ofAttempt(more)).toEqual([`attempts/0/${pointer}`]);
  });

  test.each([
    ["a negative offset", { from: -1 }, "from"],
    ["a size that is no whole number", { size: 0.5 }, "size"],
    ["bytes that are no base64", { data: "not base64!" }, "data"],
    ["base64 that is cut off", { data: "YWJ" }, "data"],
  ])("of a log: %s", (_what, piece, field) => {
    expect(logOf(piece)).toEqual([`attempts/0/log/stdout/${field}`]);
  });
});

describe("texts of a host have at most MAX_TEXT_CHARS characters", () => {
  const text = (length: number) => "x".repeat(length);
  const places: [string, (length: number) => string[]][] = [
    ["boot", (length) => faults({ boot: { ok: false, output: text(length) } })],
    ["broken", (length) => faults({ broken: text(length) })],
    ["draining", (length) => faults({ draining: text(length) })],
    ["startError", (length) => ofAttempt({ startError: { code: "start_failed", text: text(length) } })],
    [
      "kill",
      (length) => ofAttempt({ kill: { tries: 1, error: text(length), treeGone: false, by: "cgroup" } }),
    ],
  ];

  test.each(places)("%s", (_what, at) => {
    expect(at(MAX_TEXT_CHARS)).toEqual([]);
    expect(at(MAX_TEXT_CHARS + 1)).not.toEqual([]);
  });

  test("what is said of an exit is kept with the run, too", () => {
    const of = (length: number) =>
      ofAttempt({ state: "exited", exit: { ...exit, message: text(length), signal: null } });
    expect(of(MAX_TEXT_CHARS)).toEqual([]);
    expect(of(MAX_TEXT_CHARS + 1)).toEqual(["attempts/0/exit/message"]);
  });
});

describe("a host joins (host-protocol.md#joining)", () => {
  const agent = { version: "0.1.0", os: "linux", arch: "x64" };
  const resources = { vcpus: 4, memoryBytes: 1, diskBytes: 1, gpus: 0 };
  const salt = `${"A".repeat(43)}=`;
  const request = { salt, agent, bootId: "b", resources };
  const ok = (more: object) => EnrollRequest.safeParse({ ...request, ...more }).success;

  test.each<[string, object, boolean]>([
    ["as it should", {}, true],
    ["with an instance id", { instanceId: "i-1" }, true],
    ["with a salt of 31 bytes", { salt: `${"A".repeat(42)}==` }, false],
    ["with a salt of 33 bytes", { salt: "A".repeat(44) }, false],
    ["without a salt", { salt: undefined }, false],
    ["with its code", { code: "drvc_w.1.x" }, false],
    ["without a boot id", { bootId: "" }, false],
    ["with a very long boot id", { bootId: "b".repeat(129) }, false],
    ["with negative resources", { resources: { ...resources, vcpus: -1 } }, false],
    ["with more than that", { user: "root" }, false],
  ])("%s: %s", (_what, more, taken) => {
    expect(ok(more)).toBe(taken);
  });

  test.each([
    [{ start: START, bootId: "b" }, true],
    [{ bootId: "b" }, false],
    [{ start: "short", bootId: "b" }, false],
    [{ start: START, bootId: "b", instanceId: "i" }, true],
    [{ start: START, bootId: "" }, false],
    [{ start: START }, false],
    [{ start: START, bootId: "b", incarnation: 3 }, false],
  ])("again with %j: %s", (body, taken) => {
    expect(JoinRequest.safeParse(body).success).toBe(taken);
  });
});
