// The HTTP API: its routes and middleware, and their order (api.md#resources).
import { OpenAPIHono } from "@hono/zod-openapi";
import { bodyLimit } from "hono/body-limit";
import { except } from "hono/combine";
import { methodNotAllowed } from "hono/method-not-allowed";
import { DroverError } from "../shared/errors.ts";
import { MAX_BODY_BYTES, MAX_OPEN_BODY_BYTES, MAX_REPORT_BYTES } from "../shared/limits.ts";
import { formatSize } from "../shared/size.ts";
import { Access } from "./access/access.ts";
import { auditRoutes } from "./audit.ts";
import { backupRoutes } from "./deployment/backup.ts";
import { deploymentRoutes } from "./deployment/deployment.ts";
import type { EdgeApp, EdgeTypes } from "./edge.ts";
import { eventRoutes } from "./events.ts";
import { healthRoutes } from "./health.ts";
import { type AgentBundle, agentFileRoutes } from "./hosts/agent-files.ts";
import { bootRoutes } from "./hosts/boot.ts";
import { enrollmentRoutes } from "./hosts/enrollments.ts";
import { hostLogRoutes } from "./hosts/host-logs.ts";
import { hostSecretRoutes } from "./hosts/host-secrets.ts";
import { hostRoutes, SWITCHING_PROTOCOLS } from "./hosts/hosts.ts";
import { signAnswers } from "./hosts/signature.ts";
import { requireToken } from "./http/auth.ts";
import { drainBody } from "./http/drain-body.ts";
import { refuse } from "./http/invalid.ts";
import { refuseLossyJson } from "./http/json-body.ts";
import { renderError } from "./http/problem.ts";
import { setSafeHeaders } from "./http/safe-headers.ts";
import { installMessages } from "./http/zod-messages.ts";
import { jobRedriveRoute } from "./jobs/job-redrive.ts";
import { jobRunRoutes } from "./jobs/job-runs.ts";
import { jobRoutes } from "./jobs/jobs.ts";
import { metricsRoutes } from "./metrics.ts";
import { exchangeRoute } from "./oidc/exchange.ts";
import { IssuerKeys } from "./oidc/issuer-keys.ts";
import { ownIssuerRoutes } from "./oidc/own-issuer.ts";
import { OwnKeys } from "./oidc/own-keys.ts";
import { runTokenRoute } from "./oidc/run-token.ts";
import { trustRuleRoutes } from "./oidc/trust-rules.ts";
import { TrustedIssuers } from "./oidc/trusted-issuers.ts";
import { openApiRoute } from "./openapi/openapi.ts";
import { uiRoutes } from "./pages/dashboard.ts";
import { referenceRoutes } from "./pages/reference.ts";
import { poolRoutes } from "./pools.ts";
import { projectRoutes } from "./projects.ts";
import { proofRoute } from "./proof.ts";
import { poolHistoryRoutes } from "./query/pool-history.ts";
import { poolPastRoutes } from "./query/pool-past.ts";
import { runListRoutes } from "./query/run-lists.ts";
import { redriveRoute } from "./retry/redrive.ts";
import { runAbortsRoute } from "./runs/run-aborts.ts";
import { runArrivalRoutes } from "./runs/run-arrivals.ts";
import { runAskRoutes } from "./runs/run-asks.ts";
import { runEventRoutes } from "./runs/run-events.ts";
import { runLineRoutes } from "./runs/run-lines.ts";
import { runLogRoutes } from "./runs/run-logs.ts";
import { tunnelRoutes } from "./runs/run-tunnels.ts";
import { runRoutes } from "./runs/runs.ts";
import { submitRoutes } from "./runs/submit/run-submit.ts";
import { secretRoutes } from "./secrets.ts";
import { sessionRoutes } from "./sessions.ts";
import { snapshotRoutes } from "./snapshots.ts";
import { tokenRoutes } from "./tokens.ts";
import { PoolDirectory } from "./walls/pool-directory.ts";
import { deliveryRoutes } from "./webhooks/deliveries.ts";
import { webhookRoutes } from "./webhooks/endpoints.ts";
import { workerRoutes } from "./workers.ts";

const HOSTS = "/v1/hosts/*";
/**
 * The general size limit for requests of hosts does not apply to logs and snapshots: their routes have limits
 * of their own.
 */
const HOST_LOGS = "/v1/hosts/:worker/logs/*";
const HOST_SNAPSHOTS = "/v1/hosts/:worker/snapshots/*";
/** Callers without a token of this Drover: they have one of an issuer, or of their attempt. */
const OIDC = "/v1/oidc/*";
const SNAPSHOTS = "/v1/snapshots/*";

/**
 * Makes the HTTP API (api.md#resources). The app stores nothing but caches: each request brings its objects
 * in `EdgeBindings`. Machines that become hosts download `agent`.
 */
export function createApp(agent: AgentBundle): EdgeApp {
  installMessages();
  const app = new OpenAPIHono<EdgeTypes>({ defaultHook: refuse() });
  const pools = new PoolDirectory();
  const access = new Access();
  const needsToken = requireToken(access);
  answerMistakes(app);
  app.use(async (c, next) => {
    c.set("objects", c.env.objects);
    c.set("pools", pools.of(c.env));
    c.set("access", access);
    await next();
    // Hosts and the `drover` command correct their clocks by the date of an answer. The headers of an answer
    // that opens a socket cannot be changed.
    if (c.res.status === SWITCHING_PROTOCOLS) return;
    c.res.headers.set("Date", new Date(c.env.now()).toUTCString());
    c.res.headers.set("X-Request-Id", c.env.requestId);
    setSafeHeaders(c.res.headers);
  });
  app.use("/ui/session", limitBody(MAX_OPEN_BODY_BYTES), refuseLossyJson);
  app.use("/v1/*", except([HOSTS, OIDC], needsToken));
  app.use("/v1/*", except([HOSTS, SNAPSHOTS, OIDC], limitBody(MAX_BODY_BYTES), refuseLossyJson));
  app.use(OIDC, limitBody(MAX_OPEN_BODY_BYTES), refuseLossyJson);
  app.use("/metrics", needsToken);
  app.use(HOSTS, signAnswers);
  app.use(HOSTS, except([HOST_LOGS, HOST_SNAPSHOTS], limitBody(MAX_REPORT_BYTES)));
  submitRoutes(app);
  redriveRoute(app);
  runListRoutes(app);
  runAbortsRoute(app);
  runRoutes(app);
  runAskRoutes(app);
  tunnelRoutes(app);
  runEventRoutes(app);
  runLogRoutes(app);
  runArrivalRoutes(app);
  runLineRoutes(app);
  poolRoutes(app);
  poolHistoryRoutes(app);
  poolPastRoutes(app);
  workerRoutes(app);
  enrollmentRoutes(app);
  projectRoutes(app);
  const issuers = new TrustedIssuers();
  tokenRoutes(app, issuers);
  sessionRoutes(app);
  jobRoutes(app);
  jobRunRoutes(app);
  jobRedriveRoute(app);
  webhookRoutes(app);
  deliveryRoutes(app);
  auditRoutes(app);
  trustRuleRoutes(app, issuers);
  exchangeRoute(app, { issuers, keys: new IssuerKeys() });
  const ownKeys = new OwnKeys();
  ownIssuerRoutes(app, ownKeys);
  runTokenRoute(app, ownKeys);
  secretRoutes(app);
  bootRoutes(app);
  hostRoutes(app);
  hostLogRoutes(app);
  hostSecretRoutes(app);
  snapshotRoutes(app);
  agentFileRoutes(app, agent);
  eventRoutes(app);
  metricsRoutes(app);
  backupRoutes(app, issuers);
  deploymentRoutes(app, agent.version);
  healthRoutes(app, agent.version);
  proofRoute(app);
  openApiRoute(app, agent.version);
  referenceRoutes(app);
  uiRoutes(app);
  return app;
}

function answerMistakes(app: EdgeApp): void {
  app.onError((error, c) => renderError(error, c));
  app.notFound((c) => {
    const text = `there is no route ${c.req.path}; /openapi.json lists all routes`;
    return renderError(new DroverError("not_found", text), c);
  });
  app.use(
    methodNotAllowed({
      app,
      onMethodNotAllowed: (c, methods) => {
        const allow = methods.join(", ");
        const text = `${c.req.path} does not support ${c.req.method}; use ${allow}`;
        return renderError(new DroverError("method_not_allowed", text), c, { allow });
      },
    }),
  );
}

function limitBody(maxBytes: number) {
  return bodyLimit({
    maxSize: maxBytes,
    onError: async (c) => {
      await drainBody(c.req.raw);
      throw new DroverError("body_too_large", `the body is too large; the limit is ${formatSize(maxBytes)}`);
    },
  });
}
