import { spawnSync } from "node:child_process";

const SAMPLE = /^([a-z_]+)\{([^}]*)\} (\S+)$/;
const LABEL = /^[a-z_]+="(?:[^"\\\n]|\\[\\"n])*"$/;

/**
 * The faults of a text that Prometheus is to read, by the rules of the format and those that `promtool check
 * metrics` has for names.
 */
export function faultsOf(text: string): string[] {
  const faults: string[] = [];
  const types = new Map<string, string>();
  const seen = new Set<string>();
  let help = "";
  let family = "";
  if (!text.endsWith("\n")) faults.push("does not end with a line feed");
  for (const line of text.split("\n").slice(0, -1)) {
    const [, comment, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (comment === "HELP") help = name;
    else if (comment === "TYPE") {
      if (help !== name) faults.push(`${name}: no help before its type`);
      if (types.has(name)) faults.push(`${name}: in two places`);
      if ((rest === "counter") !== name.endsWith("_total")) faults.push(`${name}: only counters end so`);
      if (/_(?:sum|count|bucket|counter|gauge)$/.test(name)) faults.push(`${name}: ends as no metric may`);
      types.set(name, rest);
      family = name;
    } else faults.push(...sampleFaults(line, family, types.get(family) ?? "", seen));
  }
  return [...faults, ...bucketFaults(text)];
}

/** The faults of buckets: each holds those before it, and the last one holds all (pool.md#histograms). */
function bucketFaults(text: string): string[] {
  const faults: string[] = [];
  const values = new Map<string, number>();
  let series = "";
  let before = 0;
  for (const line of text.split("\n")) {
    const [, name = "", labels = "", value = ""] = SAMPLE.exec(line) ?? [];
    values.set(`${name}{${labels}}`, Number(value));
    const [, others, le] = /^(.*),le="(.*)"$/.exec(labels) ?? [];
    if (le === undefined || !name.endsWith("_bucket")) continue;
    const of = `${name.replace(/_bucket$/, "_count")}{${others}}`;
    if (of !== series) before = 0;
    if (Number(value) < before) faults.push(`${line}: fewer than in the bucket before it`);
    [series, before] = [of, Number(value)];
    if (le === "+Inf") values.set(`all of ${of}`, before);
  }
  for (const [name, value] of values) {
    const count = /^all of (.*)$/.exec(name)?.[1];
    if (count !== undefined && values.get(count) !== value)
      faults.push(`${count}: is not what its buckets hold`);
  }
  return faults;
}

function sampleFaults(line: string, family: string, type: string, seen: Set<string>): string[] {
  const [, name = "", labels = "", value = ""] = SAMPLE.exec(line) ?? [];
  const parts = ["bucket", "sum", "count"].map((part) => `${family}_${part}`);
  const own = type === "histogram" ? parts : [family];
  const series = `${name}{${labels}}`;
  const faults = own.includes(name) ? [] : [`${line}: not under its type`];
  if (!labels.split(/,(?=[a-z_]+=)/).every((one) => LABEL.test(one))) faults.push(`${line}: its labels`);
  if (value === "" || !Number.isFinite(Number(value))) faults.push(`${line}: its value`);
  if (seen.has(series)) faults.push(`${series}: twice`);
  seen.add(series);
  return faults;
}

/** The output of `promtool check metrics`; undefined without promtool (Debian's package `prometheus`). */
export function promtoolSays(text: string): { status: number | null; output: string } | undefined {
  const { error, status, stdout, stderr } = spawnSync("promtool", ["check", "metrics"], {
    input: text,
    encoding: "utf8",
    timeout: 30_000,
  });
  return error === undefined ? { status, output: `${stdout}${stderr}` } : undefined;
}
