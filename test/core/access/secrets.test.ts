import { describe, expect, test } from "vitest";
import { wrappingKeys } from "../../../src/core/registry/keys/wrapping-keys.ts";
import { type RegistryEvent, registryMachine } from "../../../src/core/registry/machine.ts";
import { partOf } from "../../../src/core/registry/projects.ts";
import { refusalOfSecret, secretViews } from "../../../src/core/registry/secrets.ts";
import { RunSpec } from "../../../src/schema/run/run-spec.ts";
import { MAX_SECRETS_BYTES, MAX_TASK_SECRETS } from "../../../src/shared/limits.ts";
import { applied } from "../support/applied.ts";
import { registryOf } from "../support/registry.ts";

const T0 = Date.UTC(2026, 10, 21, 8, 30);
const DAY = 24 * 3_600_000;
const wrapped = { iv: "iv", ct: "ct" };
const set = (version: number, by = "ann"): RegistryEvent => ({
  type: "secret_set",
  secret: { project: "default", name: "token" },
  use: "run",
  version,
  bytes: 8,
  sealed: { key: "1", ...wrapped },
  by,
});
const made: RegistryEvent = { type: "data_key_made", id: "1", kek: 1, wrapped };
const handed: RegistryEvent = {
  type: "secret_handed",
  project: "default",
  names: ["token", "removed"],
};
const told = (keks: number[], ...events: [number, RegistryEvent][]) =>
  events.reduce((state, [at, event]) => applied(registryMachine, state, event, at), registryOf(null, keks));

describe("secrets of the registry (secrets.md#stored)", () => {
  test("a value counts only for the version for which it was encrypted", () => {
    const state = told([1], [T0, set(1)], [T0 + 1, set(1, "bob")], [T0 + 2, set(3, "bob")]);
    expect(secretViews(state, null)).toMatchObject([{ version: 1, changedBy: "ann" }]);
    const next = told([1], [T0, set(1)], [T0 + 1, set(2, "bob")]);
    expect(secretViews(next, null)).toMatchObject([{ version: 2, createdBy: "ann", changedBy: "bob" }]);
  });

  test("the day on which a host got it is written once a day", () => {
    const state = told([1], [T0, set(1)], [T0, handed]);
    const { version } = state.secrets;
    expect(secretViews(state, null)).toMatchObject([{ lastHandedOn: "2026-11-21" }]);
    expect(applied(registryMachine, state, handed, T0 + 1).secrets.version).toBe(version);
    const later = applied(registryMachine, state, handed, T0 + DAY);
    expect(secretViews(later, null)).toMatchObject([{ lastHandedOn: "2026-11-22" }]);
  });
});

describe("all secrets together have a bound (secrets.md#limits)", () => {
  const ml = (name: string, version: number, bytes: number): RegistryEvent => {
    return { ...set(version), secret: { project: "ml", name }, bytes } as RegistryEvent;
  };
  const part = partOf(MAX_SECRETS_BYTES, "ml");
  const rest = MAX_SECRETS_BYTES - part;
  // `token` has 8 bytes, and belongs to `default`.
  const state = told([1], [T0, set(1)], [T0, ml("big", 1, part)]);
  test.each<[string, string, string, number, string | undefined]>([
    ["what fills it", "default", "new", rest - 8, undefined],
    ["a byte more", "default", "new", rest - 7, "all secrets would have more than 16MiB"],
    ["another value instead of the old one", "default", "token", rest, undefined],
    ["a longer one", "default", "token", rest + 1, "all secrets would have more than 16MiB"],
    [
      "one more of a project that has its part",
      "ml",
      "new",
      1,
      'the secrets of project "ml" would have more',
    ],
    ["another value in such a project", "ml", "big", part, undefined],
  ])("%s", (_what, project, name, bytes, refusal) => {
    const answer = refusalOfSecret(state, { secret: { project, name }, use: undefined, bytes });
    expect(answer?.code).toBe(refusal === undefined ? undefined : "busy");
    expect(answer?.message ?? "").toContain(refusal ?? "");
  });
});

describe("a data key is owed to the newest wrapping key (secrets.md#rotation)", () => {
  test.each<[string, number[], number[], string[]]>([
    ["it is wrapped by it", [1], [], ["1 in_use"]],
    ["there is a newer one", [1, 2], [2], ["1 in_use", "2 in_use"]],
    ["its own is not configured", [2], [], ["1 missing", "2 in_use"]],
    ["none is configured", [], [], ["1 missing"]],
  ])("%s", (_, keks, owed, states) => {
    const state = told(keks, [T0, made]);
    const messages = registryMachine.due(state, T0);
    expect(messages.flatMap((one) => (one.kind === "rewrap" ? [one.body.kek] : []))).toEqual(owed);
    expect(wrappingKeys(state, T0).map(({ number, state: is }) => `${number} ${is}`)).toEqual(states);
  });

  test("it is owed no more once it is wrapped, and a late answer of an earlier try changes nothing", () => {
    const rewrapped = (from: number, kek: number): RegistryEvent => {
      return { type: "data_key_rewrapped", id: "1", from, kek, wrapped };
    };
    const state = told([1, 2, 3], [T0, made], [T0, rewrapped(1, 3)], [T0, rewrapped(1, 2)]);
    expect(registryMachine.due(state, T0)).toEqual([]);
    expect(wrappingKeys(state, T0).map(({ state: is }) => is)).toEqual(["unused", "unused", "in_use"]);
  });
});

describe("the secrets of a spec (secrets.md#tasks)", () => {
  const env = { secret: "s", as: "env" };
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`K${n}`, env]));
  const argv = ["true"];
  test.each<[string, object, string | undefined]>([
    ["a file may have a dot in its name", { argv, secrets: { "id.pem": { secret: "s" } } }, undefined],
    ["a variable may not", { argv, secrets: { "id.pem": env } }, "secrets/id.pem"],
    ["a variable has one value", { argv, env: { A: "1" }, secrets: { A: env } }, "secrets/A"],
    ["a path is no name", { argv, secrets: { "../x": { secret: "s" } } }, "secrets/../x"],
    ["as many as a task may have", { argv, secrets: many(MAX_TASK_SECRETS) }, undefined],
    ["one more", { argv, secrets: many(MAX_TASK_SECRETS + 1) }, "secrets"],
    [
      "a task has its group's, too",
      { secrets: many(MAX_TASK_SECRETS), tasks: [{ name: "a", argv, secrets: { ONE: env } }] },
      "tasks/0/secrets",
    ],
    [
      "a task's variable is a secret of its group",
      { secrets: { A: env }, tasks: [{ name: "a", argv, env: { A: "1" } }] },
      "tasks/0/env/A",
    ],
  ])("%s", (_, spec, fault) => {
    const paths = RunSpec.safeParse(spec).error?.issues.map(({ path }) => path.join("/")) ?? [];
    expect(paths).toEqual(fault === undefined ? [] : [fault]);
  });
});
