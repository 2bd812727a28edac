import { describe, expect, test } from "vitest";
import { templateProblems } from "../../../src/core/job/params/check.ts";
import { codeWords } from "../../../src/core/job/params/scripts.ts";
import { spec } from "./support/spec.ts";

/** What is wrong with a spec of a job with these parameters and keys of `meta`: `/field: why`. */
function problemsOf(fields: object, params: string[] = ["x"], metaKeys: string[] = ["customer"]): string[] {
  return templateProblems(spec(fields), { params, metaKeys }).map(
    ({ pointer, detail }) => `${pointer}: ${detail}`,
  );
}

describe("references are filled in, or the job is refused (jobs.md#filling-in)", () => {
  test.each<[string, object]>([
    ["in a word of a command", { argv: ["deploy", "--to=${param.x}", "${job.name}"] }],
    ["in a variable", { env: { A: "${param.x} ${job.tick}" } }],
    ["in metadata", { meta: { a: "${param.x}" } }],
    ["in a label", { labels: { a: "${param.x}", b: "${job.version}" } }],
    ["escaped, anywhere", { argv: ["echo", "$${param.y}"], stdin: "$${param.y}" }],
    ["of the host", { argv: ["echo", "${meta.a} ${HOME}"], env: { A: "${HOME}" }, dir: "${meta.a}" }],
    ["in a task", { argv: undefined, tasks: [{ name: "main", argv: ["echo", "${param.x}"] }] }],
  ])("%s: taken", (_what, fields) => {
    expect(problemsOf(fields)).toEqual([]);
  });

  test.each<[string, object, string]>([
    [
      "an unknown parameter",
      { argv: ["echo", "${param.y}"] },
      "/argv/1: has ${param.y}, and the job has no such",
    ],
    [
      "an unknown field",
      { labels: { a: "${job.id}" } },
      "/labels/a: has ${job.id}, which is unknown: there are",
    ],
    ["standard input", { stdin: "${param.x}" }, "/stdin: has ${param.x}, and nothing is filled in here"],
    ["a directory", { dir: "${param.x}" }, "/dir: has ${param.x}, and nothing is filled in here"],
    [
      "the name of metadata",
      { meta: { "${param.x}": "a" } },
      "/meta/${param.x}: has ${param.x}, and nothing is",
    ],
    [
      "a label of a task, which has none",
      { argv: undefined, tasks: [{ name: "main", argv: ["a"], dir: "${param.x}" }] },
      "/tasks/0/dir: has ${param.x}, and nothing is filled in here",
    ],
    [
      "a check",
      { checks: [{ name: "a", command: { argv: ["curl", "${param.x}"] }, interval: "10s", timeout: "1s" }] },
      "/checks/0/command/argv/1: has ${param.x}, and nothing is filled in here",
    ],
    [
      "a variable of a parameter",
      { env: { DROVER_PARAM_X: "a" } },
      "/env/DROVER_PARAM_X: is the variable of a",
    ],
    [
      "a secret in its place",
      { secrets: { DROVER_PARAM_X: { secret: "a", as: "env" } } },
      "/env/DROVER_PARAM_X: is the variable of a",
    ],
    [
      "the program",
      { argv: ["${param.x}", "-c", "id"] },
      "/argv/0: names the program, which no run may choose",
    ],
    ["a part of the program", { argv: ["bin/${param.x}"] }, "/argv/0: names the program"],
  ])("%s: refused", (_what, fields, problem) => {
    expect(problemsOf(fields)).toEqual([expect.stringContaining(problem)]);
  });
});

describe("a value is never a part of a script (jobs.md#scripts)", () => {
  const refused = expect.stringMatching(
    /^\/argv\/\d+: has \$\{.*\} within a script, where the value would be/,
  );

  test.each<[string, string[]]>([
    ["a shell", ["sh", "-c", "echo ${param.x}"]],
    ["one with its directory", ["/usr/bin/bash", "-c", "echo ${param.x}"]],
    ["several options in one", ["bash", "-euxc", "echo ${param.x}"]],
    ["options before", ["bash", "-e", "-o", "pipefail", "-c", "echo ${param.x}"]],
    ["options after", ["sh", "-c", "-e", "-o", "nounset", "echo ${param.x}"]],
    ["a command before", ["env", "A=b", "timeout", "5", "sh", "-c", "echo ${param.x}"]],
    ["another user", ["su", "app", "-c", "echo ${param.x}"]],
    ["another user by sudo", ["sudo", "-u", "app", "zsh", "-c", "echo ${param.x}"]],
    ["a shell of many names", ["busybox", "ash", "-c", "${param.x}"]],
    ["Python", ["python3.13", "-c", "print('${param.x}')"]],
    ["Node", ["node", "--input-type=module", "-e", "f('${param.x}')"]],
    ["Node, in one word", ["node", "--eval=f('${param.x}')"]],
    ["Perl", ["perl", "-ne", "print '${param.x}'"]],
    ["what the run is given as metadata", ["sh", "-c", "echo ${meta.customer}"]],
    ["the same as a variable that the host replaces", ["sh", "-c", "echo ${DROVER_META_customer}"]],
    ["the same in capitals", ["sh", "-c", "echo ${DROVER_META_CUSTOMER}"]],
    ["a variable of a parameter that the host replaces", ["sh", "-c", "echo ${DROVER_PARAM_X}"]],
    ["an option of the shell", ["sh", "-${param.x}", "-c", "true"]],
    ["code of Perl in the word of its option", ["perl", "-eprint ${param.x}"]],
    ["code of Ruby in the word of its option", ["ruby", "--eval=puts ${param.x}"]],
    ["code of PHP in the word of its option", ["php", "-recho ${param.x};"]],
    ["code of Python in the word of its option", ["python3", "-cprint(${param.x})"]],
    ["a script of su in the word of its option", ["su", "-cecho ${param.x}", "app"]],
    ["code after an option of Ruby with a value", ["ruby", "-r", "json", "-e", "p ${param.x}"]],
    ["code after an option of Perl with a value", ["perl", "-I", "lib", "-e", "print ${param.x}"]],
    ["code of R", ["R", "-e", "print(${param.x})"]],
    ["words that env splits", ["env", "-S", "sh -c ${param.x}"]],
    ["words that env splits, in the word of its option", ["env", "-Ssh -c ${param.x}"]],
    ["a script of a shell of Windows", ["bash.exe", "-c", "${param.x}"]],
    ["code of a Node with its version", ["node24", "-e", "${param.x}"]],
    ["a script of oksh", ["oksh", "-c", "${param.x}"]],
  ])("%s: %j", (_what, argv) => {
    expect(problemsOf({ argv })).toEqual([refused]);
  });

  test("nor by way of metadata or a variable that the host replaces", () => {
    const argv = (name: string) => ["sh", "-c", `echo \${${name}}`];
    expect(problemsOf({ argv: argv("meta.a"), meta: { a: "${param.x}" } })).toEqual([refused]);
    expect(problemsOf({ argv: argv("DROVER_META_a"), meta: { a: "${param.x}" } })).toEqual([refused]);
    expect(problemsOf({ argv: argv("DROVER_A"), env: { DROVER_A: "${meta.customer}" } })).toEqual([refused]);
    // Fixed by the author of the job.
    expect(problemsOf({ argv: argv("meta.a"), meta: { a: "red" } })).toEqual([]);
  });

  test("nor in a container whose entry point is a shell, nor in a task", () => {
    const container = { image: "alpine", entrypoint: ["sh", "-c"] };
    expect(problemsOf({ container, argv: ["echo ${param.x}"] })).toEqual([refused]);
    expect(problemsOf({ container, argv: ["echo $1", "-", "${param.x}"] })).toEqual([]);
    expect(
      problemsOf({ container: { image: "alpine", entrypoint: ["tool"] }, argv: ["${param.x}"] }),
    ).toEqual([]);
    const tasks = [{ name: "main", argv: ["sh", "-c", "${param.x}"] }];
    expect(problemsOf({ argv: undefined, tasks })).toEqual([
      expect.stringMatching(/^\/tasks\/0\/argv\/2: has/),
    ]);
  });

  test.each<[string, string[]]>([
    ["an argument of a script", ["sh", "-c", 'echo "$1"', "sh", "${param.x}"]],
    ["an argument of a file", ["bash", "-x", "deploy.sh", "-c", "${param.x}"]],
    ["an argument of a module", ["python3", "-m", "pytest", "-c", "${param.x}"]],
    ["a variable of the shell", ["sh", "-c", 'echo "$DROVER_PARAM_X" "${BRANCH}"']],
    ["fields of the job, which nobody is given", ["sh", "-c", "echo ${job.name} ${job.tick}"]],
    ["an argument of a program", ["git", "-c", "user.name=${param.x}", "commit"]],
    ["an argument of node", ["node", "main.js", "-e", "${param.x}"]],
    ["an argument after code in the word of its option", ["perl", "-nle1", "${param.x}"]],
    ["an argument of a file of Perl", ["perl", "-I", "lib", "run.pl", "-e", "${param.x}"]],
    ["an argument behind env", ["env", "-u", "HOME", "make", "${param.x}"]],
  ])("%s is taken: %j", (_what, argv) => {
    expect(problemsOf({ argv })).toEqual([]);
  });

  test("the text says what to write instead", () => {
    expect(problemsOf({ argv: ["sh", "-c", "echo ${param.x}"] })).toEqual([
      "/argv/2: has ${param.x} within a script, where the value would be executed: " +
        'read DROVER_PARAM_X there ("$DROVER_PARAM_X" in a shell), or add "${param.x}" as a word ' +
        'after the script ("$1" in it, after a word for "$0")',
    ]);
  });

  test("without a script, no word is code", () => {
    expect([...codeWords(["sh"])]).toEqual([]);
    expect([...codeWords(["sh", "-c"])]).toEqual([1, 2]);
    expect([...codeWords([])]).toEqual([]);
  });
});
