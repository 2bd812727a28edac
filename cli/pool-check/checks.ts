// Which checks does a pool get, by the kind of its provider?

import { httpProvider } from "../../src/providers/http.ts";
import type { PutPoolConfig } from "../../src/schema/pool.ts";
import { tagOfPool } from "../../src/shared/cloud/tags.ts";
import { now } from "../clock.ts";
import { type Bill, billOf } from "./bill.ts";
import { checkEc2 } from "./clouds/ec2.ts";
import { checkFly } from "./clouds/fly.ts";
import { checkGce } from "./clouds/gce.ts";
import { checkHetzner } from "./clouds/hetzner.ts";
import { CREDENTIALS, type Finding, missing, ok, unknown } from "./finding.ts";
import { type Ruled, ruleFindings } from "./rules.ts";
import { type Subject, wantedOf } from "./subject.ts";

/** What was found out about a pool. */
export interface Report {
  pool: string;
  findings: Finding[];
  /** Absent: the configuration breaks a rule. */
  bill?: Bill;
}

/**
 * Checks a pool: the rules of the server, and then, if it keeps them, its cloud. `credentials`: their text.
 * Never throws for what a cloud does. Nothing is created or changed (clouds.md#checks).
 */
export async function checkPool(pool: string, read: Ruled, credentials: string): Promise<Report> {
  const rules = ruleFindings(read);
  if (!("config" in read)) return { pool, findings: rules };
  const found = await cloudFindings(pool, read.config, credentials);
  return { pool, findings: [...rules, ...found], bill: billOf(pool, read.config) };
}

async function cloudFindings(name: string, config: PutPoolConfig, credentials: string): Promise<Finding[]> {
  const { provider } = config;
  const subject = <P extends typeof provider>(of: P): Subject<P> => ({
    name,
    config,
    provider: of,
    wanted: wantedOf(config),
  });
  const account = { credentials: { binding: "CLOUD_CHECKED" } };
  switch (provider.kind) {
    case "none":
      return [ok("machines", "yours: drover enroll brings each")];
    case "http":
      return [await serviceFinding(name, provider.url, credentials)];
    case "hetzner":
      return checkHetzner(subject({ ...provider, ...account }), credentials, now);
    case "ec2":
      return checkEc2(subject({ ...provider, ...account }), credentials, now);
    case "fly":
      return checkFly(subject({ ...provider, ...account }), credentials, now);
    case "gce":
      return checkGce(subject({ ...provider, ...account }), credentials, now);
  }
}

/** A service of the user tells its machines, or why it does not. `drover provider test` says more of it. */
async function serviceFinding(pool: string, url: string, secret: string): Promise<Finding> {
  const provider = httpProvider({ kind: "http", url, secret: secret.trim() }, now);
  const listed = await provider.list(tagOfPool(pool), []);
  if (listed.kind === "listed") {
    return ok(CREDENTIALS, `the service lists ${listed.items.length} machines of the pool`);
  }
  const { class: cls, text } = listed.failure;
  const todo = "Run: drover provider test -f pool.json";
  return cls === "auth" || cls === "invalid"
    ? missing(CREDENTIALS, text, todo)
    : unknown(CREDENTIALS, text, todo);
}
