// The route at which a command gets a token that says which run it is (oidc.md#out).
import { z } from "zod";
import { IdentityToken } from "../../schema/access/identity.ts";
import type { RunStatus } from "../../schema/run/run.ts";
import { DEFAULT_PROJECT } from "../../shared/access/project.ts";
import { parseAttemptId } from "../../shared/attempt-id.ts";
import { DroverError } from "../../shared/errors.ts";
import { isTerminal } from "../../shared/run-state.ts";
import { iso } from "../../shared/time/instant.ts";
import { type AttemptClaim, readRequestToken } from "../../signing/attempt-token.ts";
import type { EdgeApp, EdgeContext } from "../edge.ts";
import { bearerOf } from "../http/auth.ts";
import { tooMany } from "../http/limits.ts";
import { operation } from "../openapi/operation.ts";
import { jsonAnswer } from "../openapi/params.ts";
import { issuerOf } from "./own-issuer.ts";
import type { OwnKeys } from "./own-keys.ts";

/** How long a token of a run is valid. */
const TOKEN_SECONDS = 600;

const token = operation({
  tag: "Tokens",
  access: "attempt",
  method: "get",
  path: "/v1/oidc/token",
  operationId: "getRunToken",
  codes: ["no_wrapping_key", "not_found"],
  summary: "A token that proves to others which run asks",
  description:
    "For commands of runs with `identity`, at `DROVER_OIDC_URL`, with `Authorization: Bearer " +
    "$DROVER_OIDC_REQUEST_TOKEN`: both are in their environment. The token is a JWT for one audience, and " +
    "says run, project, pool, labels, worker, task and attempt. It is valid for 10 min, and given only " +
    "while the attempt is to run.",
  request: {
    query: z.strictObject({
      audience: z
        .string()
        .min(1)
        .max(512)
        .describe("for whom the token is, such as `sts.amazonaws.com`; nobody else should accept it"),
    }),
  },
  responses: { 200: jsonAnswer("the token", IdentityToken, ["Cache-Control"]) },
});

/** Adds the route of tokens for commands (oidc.md#out). */
export function runTokenRoute(app: EdgeApp, keys: OwnKeys): void {
  app.openapi(token, async (c) => {
    const issuer = issuerOf(c.env.url);
    const { claim, status } = await askerOf(c);
    const now = Math.floor(c.env.now() / 1_000);
    const claims = {
      iss: issuer,
      sub: subjectOf(status),
      aud: c.req.valid("query").audience,
      iat: now,
      nbf: now,
      exp: now + TOKEN_SECONDS,
      jti: crypto.randomUUID(),
      run: status.id,
      project: status.project,
      pool: status.pool,
      worker: claim.worker,
      task: parseAttemptId(claim.attempt)?.task,
      attempt: claim.attempt,
      labels: status.labels,
    };
    const value = await keys.sign(claims, c.env);
    c.header("Cache-Control", "no-store");
    return c.json({ value, expiresAt: iso(claims.exp * 1_000) }, 200);
  });
}

/**
 * The subject of a run's token. Outside `default` it begins with the project, so that a rule of a cloud for
 * one project's runs never fits another's (projects.md#runs).
 */
function subjectOf({ id, pool, project }: RunStatus): string {
  const subject = `pool:${pool}:run:${id}`;
  return project === DEFAULT_PROJECT ? subject : `project:${project}:${subject}`;
}

/** The attempt that asks, and its run. Throws `unauthorized` if it is not to run now, or may not ask. */
async function askerOf(c: EdgeContext): Promise<{ claim: AttemptClaim; status: RunStatus }> {
  const text = bearerOf(c);
  const claim = readRequestToken(text);
  if (claim === undefined) {
    const why = "this needs the token that is in DROVER_OIDC_REQUEST_TOKEN of a command with `identity`";
    throw new DroverError("unauthorized", why);
  }
  const { runTokens } = c.var.access;
  const verdict = runTokens.take(text, c.env.now());
  if (!verdict.allowed) throw tooMany(c, "this attempt asks for too many tokens", runTokens, verdict);
  await c.env.objects.worker(claim.worker).confirmAttempt(claim);
  const { run = "", task } = parseAttemptId(claim.attempt) ?? {};
  const status = await c.env.objects.allocation(run).read();
  const { spec } = status;
  const asked = spec.tasks?.find(({ name }) => name === task)?.identity ?? spec.identity ?? false;
  if (asked && !isTerminal(status.state)) return { claim, status };
  throw new DroverError(
    "unauthorized",
    "the run has ended, or does not ask for tokens (`identity` in its spec)",
  );
}
