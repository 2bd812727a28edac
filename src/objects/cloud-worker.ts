// Which storage, sockets and methods does a worker have? Its decisions are in `core/worker`.
import { DurableObject } from "cloudflare:workers";
import type { Caused, Via } from "../core/audit/via.ts";
import type { Answer, Message } from "../core/inbox.ts";
import type { IdleBehavior } from "../core/messages.ts";
import { Rows } from "../core/rows.ts";
import { frozenWith } from "../core/worker/frozen.ts";
import type { Kill } from "../core/worker/life/kill.ts";
import { type WorkerEvent, type WorkerMessage, workerMachine } from "../core/worker/machine.ts";
import { statusOf, whyOf } from "../core/worker/read/status.ts";
import { isUsageFresh, type RunUsage, usageOfRun } from "../core/worker/read/usage.ts";
import type { ExistingWorker, PlacementRow, WorkerRecord, WorkerState } from "../core/worker/state.ts";
import { isLivePlacement, loadedWorker, TRACKED_OF_PLACEMENTS } from "../core/worker/state.ts";
import { AGENT } from "../generated/agent-bundle.ts";
import type { HostSecrets } from "../schema/access/secret.ts";
import { type HostSetup, type Orders, Report } from "../schema/host.ts";
import type { WorkerStatus } from "../schema/pool.ts";
import type { Why } from "../schema/why.ts";
import type { AttemptClaim } from "../signing/attempt-token.ts";
import type { ClaimedRequest } from "../signing/request.ts";
import { droverNow } from "./clock.ts";
import type { CloudWorkerStub, Env } from "./env.ts";
import { Cloud, timed } from "./host/cloud.ts";
import { MachineConsole } from "./host/console.ts";
import { exchange, existingWorker } from "./host/exchange.ts";
import { HostAuth } from "./host/host-auth.ts";
import { bootReportOf, parsedBody, reportOf, secretsHanded, secretsWanted } from "./host/host-calls.ts";
import { HostPace } from "./host/host-pace.ts";
import { HostSocketSession, resumeAll } from "./host/host-socket-session.ts";
import { hostSocket, receiveFrame, socketsOf, upgrade } from "./host/host-sockets.ts";
import { Relay } from "./host/relay.ts";
import { post } from "./messages/post.ts";
import { countViolations, peersOf } from "./messages/stubs.ts";
import type { EnrollCall, SignedAnswer, SignedCall } from "./rpc.ts";
import { Shell } from "./shell.ts";
import { SqlRowDisk, ValueStore } from "./store.ts";
import { until } from "./waiting.ts";

/** How long a reader waits for a new sample of a host. */
export const SAMPLE_WAIT_MS = 2_000;

/** The Durable Object of a worker. */
export class CloudWorker extends DurableObject<Env> implements CloudWorkerStub {
  readonly #name = this.ctx.id.name ?? "";
  readonly #store = new ValueStore<WorkerRecord>(this.ctx.storage);
  readonly #placements = new SqlRowDisk<PlacementRow>(this.ctx.storage.sql, "placements");
  readonly #shell = new Shell<WorkerState, WorkerEvent, WorkerMessage>(this.ctx, workerMachine, {
    load: () => {
      const rows = new Rows(this.#placements, isLivePlacement, TRACKED_OF_PLACEMENTS);
      return resumeAll(loadedWorker(this.#store.read(), rows, AGENT.sha256), socketsOf(this.ctx));
    },
    isStored: ({ placements, record }) => placements.isFlushed && this.#store.has(record),
    save: (state) => {
      state.placements.flush();
      if (state.record !== null) this.#store.write(state.record);
    },
    send: (message) => this.#send(message),
    violated: (count) => countViolations(this.env, this.#actor.state.record?.intent.pool, "worker", count),
  });
  readonly #actor = this.#shell.actor;
  readonly #cloud = new Cloud(this.env);
  readonly #console = new MachineConsole(this.env, this.#cloud, droverNow);
  readonly #pace = new HostPace(this.#actor, droverNow);
  readonly #auth = new HostAuth(this.#actor, this.#name, this.env, this.#pace);
  readonly #session = new HostSocketSession(this.#actor, () => socketsOf(this.ctx), droverNow);
  readonly #relay = new Relay(this.ctx, this.#actor, this.#session, this.#pace);

  override async alarm(): Promise<void> {
    this.#session.listen();
    this.#shell.alarm();
  }

  #enter(event?: WorkerEvent): WorkerState {
    this.#session.listen();
    return this.#shell.enter(event);
  }

  #living(): ExistingWorker {
    return existingWorker(this.#actor, this.#name);
  }

  async #send(message: WorkerMessage): Promise<WorkerEvent> {
    switch (message.kind) {
      case "create":
        return { type: "create_answered", ...(await timed(() => this.#cloud.create(message.body))) };
      case "destroy":
        return { type: "destroy_answered", ...(await timed(() => this.#cloud.destroy(message.body))) };
      case "find":
        return { type: "find_answered", ...(await timed(() => this.#cloud.find(message.body))) };
      default:
        return post(peersOf(this.env), message);
    }
  }

  async deliver(message: Message<"worker">): Promise<Answer<"worker">> {
    this.#shell.count();
    return this.#session.deliver(frozenWith(message, this.#cloud.facts));
  }

  async enroll(call: EnrollCall): Promise<HostSetup> {
    this.#enter();
    return this.#auth.enroll(call);
  }

  async reportBoot(text: string): Promise<void> {
    this.#shell.count();
    this.#living();
    this.#pace.start();
    this.#actor.apply({ type: "boot", ...bootReportOf(text) });
  }

  async join(call: SignedCall): Promise<SignedAnswer<HostSetup>> {
    this.#shell.count();
    return this.#auth.join(call);
  }

  async report(call: SignedCall, waitMs: number): Promise<SignedAnswer<Orders>> {
    this.#shell.count();
    return this.#auth.answer(call, async () => {
      this.#pace.report(call.body.length);
      const report = reportOf(call, this.#living());
      return this.#auth.recordRefusals(() => exchange(this.#actor, report, waitMs, droverNow));
    });
  }

  async admit(call: ClaimedRequest, attempt?: string): Promise<SignedAnswer<null>> {
    this.#shell.count();
    return this.#auth.admit(call, attempt);
  }

  async confirmAttempt(claim: AttemptClaim): Promise<void> {
    this.#shell.count();
    this.#auth.confirmAttempt(claim);
  }

  async secrets(call: SignedCall): Promise<SignedAnswer<HostSecrets>> {
    this.#shell.count();
    return this.#auth.answer(call, async () => {
      this.#pace.start();
      const request = secretsWanted(call, this.#living());
      const sealed = await peersOf(this.env).registry().handSecrets(request);
      secretsWanted(call, this.#living()); // while the registry sealed them, orders may have changed
      this.#actor.apply(secretsHanded(request)); // before the host has them
      return sealed;
    });
  }

  /** The host's request for a socket. Nothing changes before the host's first frame. */
  override async fetch(request: Request): Promise<Response> {
    this.#shell.count();
    return this.#relay.open(request) ?? upgrade(this.ctx, request, this.#name, this.#auth);
  }

  override webSocketMessage(socket: WebSocket, frame: string | ArrayBuffer): void {
    this.#shell.count();
    if (socket.readyState !== WebSocket.OPEN) return; // closed: frames in transit are ignored
    if (this.#relay.fromClient(socket, frame)) return;
    const text = receiveFrame(socket, frame);
    const host = hostSocket(this.ctx, socket);
    if (text === undefined || this.#relay.fromHost(host, text)) return;
    const isFirst = this.#session.received(host, () => {
      this.#pace.report(text.length);
      return parsedBody(Report, text);
    });
    if (isFirst) this.#relay.hostOpened();
  }

  async read(): Promise<WorkerStatus> {
    this.#enter();
    return statusOf(this.#living(), droverNow());
  }

  async why(run?: string): Promise<Why> {
    this.#enter();
    return whyOf(this.#living(), droverNow(), run);
  }

  async console(): ReturnType<CloudWorkerStub["console"]> {
    this.#enter();
    return this.#console.read(this.#living());
  }

  async usage(run: string): Promise<RunUsage | null> {
    this.#enter();
    if (!isUsageFresh(this.#living(), droverNow())) this.#session.askForAll();
    await until(this.#actor, () => isUsageFresh(this.#living(), droverNow()), SAMPLE_WAIT_MS);
    return usageOfRun(this.#living(), run);
  }

  async setBehavior(behavior: IdleBehavior, by: string, via?: Via): Promise<WorkerStatus> {
    this.#enter({ type: "behavior", behavior, by, via });
    return statusOf(this.#living(), droverNow());
  }

  async kill(request: Kill & Caused): Promise<WorkerStatus> {
    this.#enter({ type: "kill", ...request });
    return statusOf(this.#living(), droverNow());
  }
}
