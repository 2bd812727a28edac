// What do a host's calls contain, and what is in the setup that a host receives?
import type { z } from "zod";
import type { SecretsHanded } from "../../core/worker/audit.ts";
import { secretsOrdered } from "../../core/worker/placements.ts";
import { type ExistingWorker, livePlacements } from "../../core/worker/state.ts";
import { AGENT } from "../../generated/agent-bundle.ts";
import { type BootReport, readBootRecord } from "../../probes/boot-record.ts";
import { plainReport } from "../../probes/plain-text.ts";
import { SecretsRequest } from "../../schema/access/secret.ts";
import { fieldErrors } from "../../schema/field-errors.ts";
import { type HostSetup, Report } from "../../schema/host.ts";
import { jsonOf } from "../../schema/json.ts";
import { lostNames } from "../../schema/lost-names.ts";
import { parseAttemptId } from "../../shared/attempt-id.ts";
import { DroverError } from "../../shared/errors.ts";
import { type Env, urlOf } from "../env.ts";
import type { SecretsFor } from "../registry/api.ts";
import type { SignedCall } from "../rpc.ts";

/** What a host needs to start (host-protocol.md#joining). */
export function hostSetup({ record }: ExistingWorker, env: Env): HostSetup {
  const { worker, settings } = record.intent;
  const base = `${urlOf(env)}/v1/hosts/${worker}`;
  return {
    worker,
    incarnation: record.incarnation,
    reportUrl: `${base}/reports`,
    socketUrl: `${base}/socket`,
    ...(env.LOGS === undefined
      ? {}
      : { logsUrl: `${base}/logs`, logStamps: true, logLines: true, snapshotsUrl: `${base}/snapshots` }),
    ...((record.hostKey ?? null) === null ? {} : { secretsUrl: `${base}/secrets` }),
    probe: { intervalMs: settings.probeIntervalMs, boot: settings.bootCommand },
    leaseMs: settings.leaseMs,
    agent: { version: AGENT.version, sha256: AGENT.sha256 },
  };
}

/** The report of a verified call, as JSON or plain text. Throws `malformed_json` or `invalid_request`. */
export function reportOf({ body, plain, created }: SignedCall, worker: ExistingWorker): Report {
  if (!plain) return parsedBody(Report, body);
  return plainReport(body, created, worker.record.incarnation, livePlacements(worker));
}

/** The body of a verified call, checked. Throws `malformed_json` or `invalid_request`. */
export function parsedBody<T>(schema: z.ZodType<T>, body: string): T {
  const value = jsonOf(body);
  if (value === undefined) throw new DroverError("malformed_json", "the body is not valid JSON");
  const result = schema.safeParse(value);
  const fields = [...lostNames(body), ...(result.success ? [] : fieldErrors(result.error.issues, "json"))];
  if (result.success && fields.length === 0) return result.data;
  throw new DroverError("invalid_request", "the body is invalid; `errors` names the fields", { fields });
}

/** What a machine's script says of its boot. Throws `invalid_request`. */
export function bootReportOf(text: string): BootReport {
  const report = readBootRecord(text);
  if (report !== undefined) return report;
  const detail = "must be a record of a boot: its first line is `boot <id>`, and its last is `<seconds> now`";
  throw new DroverError("invalid_request", `the body ${detail}`, { fields: [{ pointer: "", detail }] });
}

/** What the worker notes of secrets that its host gets, each name once. */
export function secretsHanded({ secrets, run, attempt }: SecretsFor): SecretsHanded {
  return { type: "secrets_handed", names: [...new Set(Object.values(secrets))].sort(), run, attempt };
}

/**
 * The secrets for which a verified call of this worker's host asks (secrets.md#handed). Throws `forbidden` if
 * the host has another key than the one with which it has enrolled, and `unknown_attempt` unless the attempt
 * is in the present orders, and is still to be started.
 */
export function secretsWanted({ body }: SignedCall, worker: ExistingWorker): SecretsFor {
  const { attempt, publicKey } = parsedBody(SecretsRequest, body);
  const { hostKey, intent } = worker.record;
  if (publicKey !== hostKey) {
    const why = "this host has not enrolled with the key that it names, so no secret is sealed for it";
    throw new DroverError("forbidden", `${why}; enroll it again`);
  }
  const secrets = secretsOrdered(worker, attempt);
  const run = parseAttemptId(attempt)?.run;
  if (secrets !== undefined && run !== undefined)
    return { secrets, run, attempt, worker: intent.worker, publicKey };
  const text = `attempt "${attempt}" is not to be started on this host, or has no secrets`;
  throw new DroverError("unknown_attempt", text);
}
