import { describe, expect, test } from "vitest";
import { readyTask } from "../../../agent/core/attempts/task-environment.ts";
import type { TaskSpec } from "../../../src/schema/run/run.ts";
import {
  escapeReferences,
  interpolate,
  interpolateCommand,
  lookUpIn,
} from "../../../src/shared/references.ts";
import { task } from "./drive.ts";

// tasks.md#environment: what a task is given, and what its references stand for.

const dirs = { alloc: "/a/alloc", local: "/a/main/local", secrets: "/a/main/secrets", tmp: "/a/main/tmp" };
const base = { PATH: "/usr/bin:/bin", HOME: "/root", USER: "root", LANG: "C.UTF-8" };
const node = { "node.unique.id": "w-7", "attr.cpu.arch": "x64" };
const around = { id: "build-17/main/2.3", base, dirs, node, instance: "here", identity: undefined };

const ready = (more: Partial<TaskSpec>) => readyTask(task(more), around);

describe("references (tasks.md#env-note-4)", () => {
  const lookUp = lookUpIn({ A: "1", EMPTY: "", "x.y-z_0": "odd", NEST: "${A}" }, { A: "2", B: "b" });
  test.each([
    ["one", "${A}", "1"],
    ["several", "<${A}-${B}>", "<1-b>"],
    ["the first that knows it", "${A}", "1"],
    ["the next one otherwise", "${B}", "b"],
    ["all letters of a name", "${x.y-z_0}", "odd"],
    ["an empty value is one", "[${EMPTY}]", "[]"],
    ["unknown: stays", "${NOBODY} and ${env.A}", "${NOBODY} and ${env.A}"],
    ["what every object has is not known", "${constructor} ${__proto__}", "${constructor} ${__proto__}"],
    ["no braces: for the shell", "$A $(A)", "$A $(A)"],
    ["other braces: for the shell", "${A:-x} ${#A} ${A", "${A:-x} ${#A} ${A"],
    ["escaped, known or not", "$${A} $${NOBODY}", "${A} ${NOBODY}"],
    ["a space is no part of a name", "${ A }", "${ A }"],
    ["what was put in is not looked through", "${NEST}", "${A}"],
    ["a value that looks like a pattern", "${B}$&", "b$&"],
  ])("%s", (_, text, result) => {
    expect(interpolate(text, lookUp)).toBe(result);
  });
});

describe("P6: a command is left to the shell", () => {
  const lookUp = lookUpIn({
    A: "1",
    USER: "root",
    DROVER_RUN_ID: "r1",
    "node.unique.id": "w-7",
    "meta.x": "m",
  });

  test.each([
    ["a variable that the script has set", "A=2; echo ${A} $A", "A=2; echo ${A} $A"],
    ["a variable of the environment", "USER=bob; echo ${USER}", "USER=bob; echo ${USER}"],
    ["the shell's own process, before a brace", "echo $${A}", "echo $${A}"],
    ["a name of Drover's own is filled in", "${DROVER_RUN_ID} ${node.unique.id} ${meta.x}", "r1 w-7 m"],
    ["unless it is escaped", "$${DROVER_RUN_ID} $${meta.x}", "${DROVER_RUN_ID} ${meta.x}"],
    ["or not known", "${meta.y} $${meta.y} ${DROVER_X}", "${meta.y} $${meta.y} ${DROVER_X}"],
  ])("%s", (_, script, received) => {
    expect(interpolateCommand(script, lookUp)).toBe(received);
    expect(ready({ argv: ["sh", "-c", "USER=bob; echo ${USER}"] }).argv[2]).toBe("USER=bob; echo ${USER}");
  });

  test.each([
    ["a reference", "${A}"],
    ["one that looks escaped", "$${A} $$${A} $$$${A}"],
    ["one that is not known", "${NOBODY} $${NOBODY}"],
    ["other uses of the characters", "$A $$ ${A:-x} $ {A}"],
  ])("%s in a value from the command line arrives as it was written", (_, text) => {
    expect(interpolate(escapeReferences(text), lookUp)).toBe(text);
    expect(ready({ env: { V: escapeReferences(text) } }).env.V).toBe(text);
  });

  test("a value from the command line may name what only Drover knows", () => {
    expect(interpolate(escapeReferences("${meta.x}, $${meta.x}"), lookUp)).toBe("m, ${meta.x}");
  });
});

describe("the environment (tasks.md#environment)", () => {
  // tasks.md#env-1, tasks.md#env-2, tasks.md#env-3, tasks.md#env-4, tasks.md#env-5, tasks.md#start-1
  test("says where the task is and what it may use", () => {
    const resources = { vcpus: 2, memoryBytes: 268_435_456, diskBytes: 0, gpus: 0 };
    expect(ready({ name: "test", resources }).env).toEqual({
      ...base,
      TMPDIR: "/a/main/tmp",
      DROVER_ALLOC_DIR: "/a/alloc",
      DROVER_TASK_DIR: "/a/main/local",
      DROVER_SECRETS_DIR: "/a/main/secrets",
      DROVER_TASK_NAME: "test",
      DROVER_RUN_ID: "build-17",
      DROVER_ATTEMPT_ID: "build-17/main/2.3",
      DROVER_VCPUS: "2",
      DROVER_MEMORY_BYTES: "268435456",
      DROVER_MEMORY_LIMIT: "256",
      DROVER_INSTANCE: "here",
    });
  });

  test.each<[string, Partial<TaskSpec>, Record<string, string>]>([
    ["meta stands above what Drover tells", { meta: { X: "m" } }, { DROVER_META_X: "m" }],
    [
      "each key as written and upper-cased, sanitized (tasks.md#env-11, tasks.md#env-note-2)",
      { meta: { "build.id": "7" } },
      { DROVER_META_build_id: "7", DROVER_META_BUILD_ID: "7" },
    ],
    [
      "env above meta, meta above what is told (tasks.md#env-note-1)",
      { meta: { X: "m" }, env: { DROVER_META_X: "e", PATH: "/opt:${PATH}", TMPDIR: "/t" } },
      { DROVER_META_X: "e", PATH: "/opt:/usr/bin:/bin", TMPDIR: "/t" },
    ],
    [
      "what the agent finds processes by stands above all",
      { env: { DROVER_ATTEMPT_ID: "x", DROVER_TASK_DIR: "x", DROVER_RUN_ID: "x", DROVER_INSTANCE: "x" } },
      {
        DROVER_ATTEMPT_ID: "build-17/main/2.3",
        DROVER_TASK_DIR: "/a/main/local",
        DROVER_RUN_ID: "build-17",
        DROVER_INSTANCE: "here",
      },
    ],
    ["meta refers to what is told", { meta: { at: "${node.unique.id}" } }, { DROVER_META_AT: "w-7" }],
    [
      "env refers to meta, by either name",
      { meta: { at: "${DROVER_RUN_ID}" }, env: { A: "${meta.at}", B: "${DROVER_META_AT}" } },
      { A: "build-17", B: "build-17" },
    ],
    ["env does not refer to env", { env: { A: "1", B: "${A}" } }, { B: "${A}" }],
    ["meta does not refer to meta", { meta: { a: "1", b: "${meta.a}" } }, { DROVER_META_B: "${meta.a}" }],
  ])("%s", (_, more, expected) => {
    expect(ready(more).env).toMatchObject(expected);
  });
});

test("three references to node, task and group (tasks.md#env-note-4)", () => {
  // The control plane has put the task's meta above its group's (src/core/spec.ts).
  const meta = { foo: "bar", common_user: "somebody" };
  const argv = [
    "echo",
    "${node.unique.id} ${meta.foo} ${DROVER_META_common_user}",
    "$HOME",
    "${HOME}",
    "${1}",
  ];
  expect(ready({ meta, argv }).argv).toEqual(["echo", "w-7 bar somebody", "$HOME", "${HOME}", "${1}"]);
});

test("what else a task says can refer to all of it", () => {
  const artifact = { url: "http://a.test/${attr.cpu.arch}.tar?v=${V}", sha256: "0".repeat(64), to: "${V}/" };
  const said = ready({ env: { V: "9" }, dir: "${V}", user: "ci-${V}", artifacts: [artifact] });
  expect(said).toMatchObject({
    dir: "9",
    user: "ci-9",
    artifacts: [{ url: "http://a.test/x64.tar?v=9", sha256: "0".repeat(64), to: "9/" }],
  });
  expect(ready({})).toMatchObject({ dir: undefined, user: undefined, artifacts: [] });
});

describe("N9: `compat: nomad` also tells what Drover tells under Nomad's names", () => {
  const resources = { vcpus: 2, memoryBytes: 268_435_456, diskBytes: 0, gpus: 0 };
  const namesOf = (env: Record<string, string>) =>
    Object.keys(env).filter((name) => name.startsWith("NOMAD_"));

  test("every value that has a counterpart here, and no other", () => {
    const { env } = ready({ name: "test", resources, meta: { "build.id": "7" }, compat: "nomad" });
    const nomad = Object.fromEntries(namesOf(env).map((name) => [name, env[name]]));
    expect(nomad).toEqual({
      NOMAD_ALLOC_DIR: "/a/alloc",
      NOMAD_TASK_DIR: "/a/main/local",
      NOMAD_SECRETS_DIR: "/a/main/secrets",
      NOMAD_TASK_NAME: "test",
      NOMAD_ALLOC_ID: "build-17",
      NOMAD_SHORT_ALLOC_ID: "build-17",
      NOMAD_ALLOC_NAME: "build-17.build-17[0]",
      NOMAD_ALLOC_INDEX: "0",
      NOMAD_JOB_ID: "build-17",
      NOMAD_JOB_NAME: "build-17",
      NOMAD_GROUP_NAME: "build-17",
      NOMAD_CPU_LIMIT: "2000",
      NOMAD_MEMORY_LIMIT: "256",
      NOMAD_META_build_id: "7",
      NOMAD_META_BUILD_ID: "7",
    });
    expect(env).toMatchObject({ DROVER_TASK_DIR: "/a/main/local", DROVER_META_BUILD_ID: "7" });
  });

  test.each<[string, Partial<TaskSpec>, Record<string, string>]>([
    [
      "references find them",
      { env: { A: "${NOMAD_TASK_DIR}/${NOMAD_META_X}" }, meta: { X: "m" } },
      { A: "/a/main/local/m" },
    ],
    ["`env` of the task stands above them", { env: { NOMAD_TASK_DIR: "mine" } }, { NOMAD_TASK_DIR: "mine" }],
    [
      "`meta` can refer to them",
      { meta: { X: "${NOMAD_ALLOC_ID}" }, env: { NOMAD_META_X: "e" } },
      { DROVER_META_X: "build-17", NOMAD_META_X: "e" },
    ],
  ])("%s", (_, more, expected) => {
    expect(ready({ ...more, compat: "nomad" }).env).toMatchObject(expected);
  });

  test("a short id has the first eight characters", () => {
    const { env } = readyTask(task({ compat: "nomad" }), { ...around, id: "0123456789/main/1.1" });
    expect(env).toMatchObject({ NOMAD_ALLOC_ID: "0123456789", NOMAD_SHORT_ALLOC_ID: "01234567" });
  });

  test("without it there is none", () => {
    expect(namesOf(ready({ meta: { X: "m" } }).env)).toEqual([]);
  });
});
