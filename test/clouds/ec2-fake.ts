// A fake EC2 on 127.0.0.1, with the exact wire of the Query API, states, and faults by name.
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { wholeBody } from "../support/whole-body.ts";
import { ACTIONS } from "./ec2-fake-actions.ts";
import { Ec2Cloud, type Ec2Options, REGION } from "./ec2-fake-cloud.ts";
import type { Tokens } from "./ec2-fake-run.ts";
import { checkSignature } from "./ec2-fake-signature.ts";
import { answerXml, Ec2Fault, errorXml, Params } from "./ec2-fake-wire.ts";

export * from "./ec2-fake-cloud.ts";

/** A running fake. */
export interface Ec2Fake {
  cloud: Ec2Cloud;
  url: string;
}

const HTML =
  "<!DOCTYPE html>\n<html><head><title>Gateway &nbsp; login</title><body><p>Hello<br></body></html>";
const HUGE_BYTES = 40 * 1024 * 1024;

/** Starts a fake for one test, which closes it. */
export async function startEc2(options: Ec2Options = {}): Promise<Ec2Fake> {
  const cloud = new Ec2Cloud(options);
  const { server, url } = await serveEc2(cloud);
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { cloud, url };
}

export async function serveEc2(cloud: Ec2Cloud, atPort = 0): Promise<{ server: Server; url: string }> {
  const tokens: Tokens = new Map();
  const buckets = new Buckets(cloud);
  const server = createServer((request, response) => {
    void wholeBody(request).then((body) => {
      if (body !== undefined) answer({ cloud, tokens, buckets }, request, body.toString(), response);
    });
  });
  server.listen(atPort, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { server, url: `http://127.0.0.1:${port}` };
}

interface State {
  cloud: Ec2Cloud;
  tokens: Tokens;
  buckets: Buckets;
}

function answer(state: State, request: IncomingMessage, body: string, response: ServerResponse): void {
  const { cloud } = state;
  const { faults } = cloud;
  cloud.settle();
  if (request.headers["x-amz-target"] !== undefined) {
    const { status, json } = serviceQuota(cloud, request, body);
    cloud.calls.push({ action: "GetServiceQuota", at: cloud.now, code: undefined, body });
    response.writeHead(status, { "content-type": "application/x-amz-json-1.1" }).end(JSON.stringify(json));
    return;
  }
  const params = Params.of(body);
  const action = params.get("Action") ?? "";
  const { status, text, code } = outcome(state, request, body, params);
  cloud.calls.push({ action, at: cloud.now, code, body });
  if (faults.lostAnswers > 0) {
    faults.lostAnswers -= 1;
    response.destroy();
    return;
  }
  const headers = {
    "content-type": "text/xml;charset=UTF-8",
    date: new Date(cloud.now).toUTCString(),
    server: "AmazonEC2",
  };
  const replaced = faults.bodies.shift();
  if (replaced === undefined) {
    response.writeHead(status, headers).end(text);
    return;
  }
  if (replaced === "cut")
    response.writeHead(status, headers).end(text.slice(0, Math.floor(text.length * 0.7)));
  else if (replaced === "huge") endless(response.writeHead(status, headers), text);
  else
    response
      .writeHead(replaced === "html" ? 200 : 503, { ...headers, "content-type": "text/html" })
      .end(HTML);
}

/** Service Quotas, which is another service of Amazon, with JSON. */
function serviceQuota(
  { faults, keys, now, serviceQuotas }: Ec2Cloud,
  { method = "", url: path = "/", headers }: IncomingMessage,
  body: string,
): { status: number; json: object } {
  const refused = (type: string, message: string) => ({ status: 400, json: { __type: type, message } });
  try {
    const service = "servicequotas";
    checkSignature(
      { method, path, headers, body },
      { keys, region: REGION, now, skewAnswer: faults.skewAnswer, service },
    );
  } catch (error) {
    return refused("InvalidSignatureException", String(error));
  }
  if (headers["x-amz-target"] !== "ServiceQuotasV20190624.GetServiceQuota")
    return refused("UnknownOperationException", "");
  if (faults.denied.has("GetServiceQuota"))
    return refused("AccessDeniedException", "User: arn:aws:iam::123456789012:user/ci is not authorized");
  const { ServiceCode: of, QuotaCode: code } = JSON.parse(body);
  const value = serviceQuotas[code];
  if (of !== "ec2" || value === undefined) {
    return refused("com.amazonaws.servicequotas#NoSuchResourceException", "The request failed");
  }
  const quota = { ServiceCode: of, ServiceName: "Amazon EC2", QuotaCode: code, Value: value, Unit: "None" };
  return { status: 200, json: { Quota: { ...quota, Adjustable: true, GlobalQuota: false } } };
}

/** The answer, and after it blanks for as long as somebody reads, up to 40 MB. */
function endless(response: ServerResponse, text: string): void {
  response.write(text);
  const piece = Buffer.alloc(1024 * 1024, 32);
  let left = HUGE_BYTES;
  const more = () => {
    while (left > 0 && !response.destroyed) {
      left -= piece.length;
      if (!response.write(piece)) return;
    }
    response.end();
  };
  response.on("drain", more);
  more();
}

function outcome(
  { cloud, tokens, buckets }: State,
  request: IncomingMessage,
  body: string,
  params: Params,
): { status: number; text: string; code?: string } {
  const { faults, keys, now } = cloud;
  const action = params.get("Action") ?? "";
  try {
    const { method = "", url: path = "/", headers } = request;
    checkSignature(
      { method, path, headers, body },
      { keys, region: REGION, now, skewAnswer: faults.skewAnswer },
    );
    buckets.take(action, params);
    failByChance(cloud);
    const act = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    if (act === undefined || params.get("Version") !== "2016-11-15") {
      throw new Ec2Fault("InvalidAction", `The action ${action} is not valid for this web service.`);
    }
    const denied = deniedAction(cloud, action, params);
    if (denied !== undefined) throw unauthorized(denied);
    return { status: 200, text: answerXml(action, act(cloud, tokens, params)) };
  } catch (error) {
    if (!(error instanceof Ec2Fault)) throw error;
    return { status: error.status, text: errorXml(error), code: error.code };
  }
}

/** A create call that sets tags needs the permission for that, too. */
function deniedAction({ faults: { denied } }: Ec2Cloud, action: string, params: Params): string | undefined {
  if (denied.has(action)) return action;
  const setsTags = action === "RunInstances" && params.structures("TagSpecification").length > 0;
  return setsTags && denied.has("CreateTags") ? "CreateTags" : undefined;
}

function unauthorized(action: string): Ec2Fault {
  const user = "arn:aws:iam::123456789012:user/ci";
  const text =
    `You are not authorized to perform this operation. User: ${user} is not authorized to perform: ` +
    `ec2:${action} on resource: arn:aws:ec2:${REGION}:123456789012:instance/* because no identity-based ` +
    `policy allows the ec2:${action} action. Encoded authorization failure message: ${"A".repeat(6_000)}`;
  return new Ec2Fault("UnauthorizedOperation", text);
}

function failByChance(cloud: Ec2Cloud): void {
  const { errors, errorRate } = cloud.faults;
  const code = errors.shift();
  if (code !== undefined) throw new Ec2Fault(code, `It is so because of ${code}.`);
  if (errorRate !== undefined && cloud.chance() < errorRate.part) {
    throw new Ec2Fault(errorRate.code, "Request limit exceeded.");
  }
}

/** How fast an account may call: how many calls at once, and how many more a second. */
const RATES: Readonly<Record<string, [burst: number, perSecond: number]>> = {
  RunInstances: [5, 2],
  TerminateInstances: [100, 5],
  DescribeInstances: [100, 20],
  "DescribeInstances without pages": [50, 10],
  DescribeSpotPriceHistory: [100, 20],
};

class Buckets {
  readonly #cloud: Ec2Cloud;
  readonly #levels = new Map<string, { tokens: number; at: number }>();

  constructor(cloud: Ec2Cloud) {
    this.#cloud = cloud;
  }

  take(action: string, params: Params): void {
    if (!this.#cloud.faults.enforcesRates) return;
    const isWhole = action === "DescribeInstances" && params.get("MaxResults") === undefined;
    const sort = isWhole ? `${action} without pages` : action;
    const [burst, perSecond] = RATES[sort] ?? [100, 20];
    const { now } = this.#cloud;
    const { tokens, at } = this.#levels.get(sort) ?? { tokens: burst, at: now };
    const level = Math.min(burst, tokens + ((now - at) * perSecond) / 1_000);
    this.#levels.set(sort, { tokens: level >= 1 ? level - 1 : level, at: now });
    if (level < 1) throw new Ec2Fault("RequestLimitExceeded", "Request limit exceeded.");
  }
}
