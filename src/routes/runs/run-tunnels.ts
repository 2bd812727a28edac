// The route by which a client opens a tunnel into a run (tunnels.md).
import { z } from "zod";
import type { SocketRefusal } from "../../objects/rpc.ts";
import { Name } from "../../schema/common.ts";
import { DroverError } from "../../shared/errors.ts";
import { tunnelRequest } from "../../shared/tunnel/client-end.ts";
import { TUNNEL_KINDS } from "../../shared/tunnel/frames.ts";
import type { EdgeApp } from "../edge.ts";
import { SWITCHING_PROTOCOLS } from "../hosts/hosts.ts";
import { operation } from "../openapi/operation.ts";
import { RunParams } from "../openapi/params.ts";
import { askOf } from "./run-asks.ts";

const TunnelId = z
  .string()
  .regex(/^[a-z0-9-]{8,64}$/, "must have 8 to 64 lower-case letters, digits and dashes")
  .describe("chosen by the client, at random: the same id finds the same tunnel again");

const openTunnel = operation({
  method: "get",
  path: "/v1/runs/{id}/tunnels/{tunnel}",
  operationId: "openTunnel",
  tag: "Runs",
  access: "runs:exec",
  codes: [
    "unknown_run",
    "expired_run",
    "not_running",
    "terminal",
    "unknown_task",
    "upgrade_required",
    "busy",
  ],
  summary: "Opens a tunnel into a run, as a WebSocket",
  description:
    "A command beside the one of a task (`exec`), or connections to a port of the machine (`forward`). The " +
    "first frame of the client says which. A client whose connection breaks opens the same tunnel again, " +
    "and goes on where it was. The typed client has this as `runs.exec` and `runs.forward`.",
  request: {
    params: RunParams.extend({ tunnel: TunnelId }),
    query: z.strictObject({
      kind: z.enum(TUNNEL_KINDS).default("exec").describe("what the tunnel leads to"),
      task: Name.optional().describe("default: the task that gives the run its result"),
    }),
  },
  responses: { 101: { description: "the socket" } },
});

/** Adds the route for tunnels into runs (tunnels.md#relay). */
export function tunnelRoutes(app: EdgeApp): void {
  app.openapi(openTunnel, async (c) => {
    const { id, tunnel } = c.req.valid("param");
    const { kind, task } = c.req.valid("query");
    const run = c.var.objects.allocation(id);
    if (c.req.header("upgrade")?.toLowerCase() !== "websocket") {
      await run.summary(); // a run that is not there is the more important news
      throw new DroverError("upgrade_required", "this route is a WebSocket: send `Upgrade: websocket`");
    }
    const key = await askOf("tunnel", { kind, task }, tunnel);
    const request = { kind, task, by: c.var.caller.by };
    const { worker, attempt } = await run.tunnel(request, key);
    const answer = await c.env.objects.worker(worker).fetch(tunnelRequest({ tunnel, kind, attempt }));
    if (answer.status === SWITCHING_PROTOCOLS) {
      // A copy, since the headers of the worker's answer cannot be changed.
      const opened = new Response(null, answer);
      opened.headers.set("X-Request-Id", c.env.requestId);
      return opened;
    }
    // `CloudWorkerApi.fetch` promises this type.
    const { refused } = (await answer.json()) as SocketRefusal;
    throw new DroverError(refused.code, refused.message, { retryAfterMs: refused.retryAfterMs });
  });
}
