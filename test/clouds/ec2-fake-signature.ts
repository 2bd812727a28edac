// Whether a request is signed as AWS wants it: written apart from what Drover signs with.
import { createHash, createHmac } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { Ec2Fault } from "./ec2-fake-wire.ts";

/** A pair of keys that the fake knows. */
export interface KnownKeys {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

export interface SignedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Five minutes. */
const TOLERANCE_MS = 300_000;
const FORM = new RegExp(
  [
    String.raw`^AWS4-HMAC-SHA256 Credential=(\w+)/(\d{8})/([\w-]+)/(\w+)/aws4_request`,
    String.raw`SignedHeaders=([\w;-]+)`,
    "Signature=([0-9a-f]{64})$",
  ].join(", ?"),
);
const NOT_VALID = "AWS was not able to validate the provided access credentials";

/** What EC2 says of a request whose time is wrong: all of these were seen. */
export type SkewAnswer = "RequestExpired" | "AuthFailure" | "SignatureDoesNotMatch";

/** Throws what EC2 answers to a request that is not signed by one of these keys, for this region, now. */
export function checkSignature(
  request: SignedRequest,
  {
    keys,
    region,
    now,
    skewAnswer,
    service = "ec2",
  }: { keys: KnownKeys[]; region: string; now: number; skewAnswer: SkewAnswer; service?: string },
): void {
  const { headers, body, method, path } = request;
  const [, id, day, scopeRegion, scopeService, names = "", signature] =
    FORM.exec(headers.authorization ?? "") ?? [];
  if (id === undefined) throw new Ec2Fault("MissingAuthenticationToken", "Request is missing a signature");
  const known = keys.find(({ accessKeyId }) => accessKeyId === id);
  if (known === undefined) throw new Ec2Fault("AuthFailure", NOT_VALID);
  const signedNames = names.split(";");
  const required = [
    "host",
    "x-amz-date",
    ...("x-amz-security-token" in headers ? ["x-amz-security-token"] : []),
  ];
  if (required.some((name) => !signedNames.includes(name))) {
    throw new Ec2Fault("SignatureDoesNotMatch", `'${required.join("' or '")}' must be signed`);
  }
  if (headers["x-amz-security-token"] !== known.sessionToken) throw new Ec2Fault("AuthFailure", NOT_VALID);
  const date = String(headers["x-amz-date"]);
  checkTime(date, now, skewAnswer);
  if (scopeRegion !== region || scopeService !== service || day !== date.slice(0, 8)) {
    const text = `Credential should be scoped to a valid region, not '${scopeRegion}'.`;
    throw new Ec2Fault("SignatureDoesNotMatch", text);
  }
  const [pathname = "/", query = ""] = path.split("?");
  const lines = signedNames.map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, " ")}\n`);
  const canonical = [method, pathname, query, lines.join(""), names, sha256(body)].join("\n");
  const scope = `${day}/${region}/${service}/aws4_request`;
  const toSign = ["AWS4-HMAC-SHA256", date, scope, sha256(canonical)].join("\n");
  let key: Buffer = Buffer.from(`AWS4${known.secretAccessKey}`);
  for (const part of scope.split("/")) key = createHmac("sha256", key).update(part).digest();
  if (createHmac("sha256", key).update(toSign).digest("hex") === signature) return;
  const text =
    "The request signature we calculated does not match the signature you provided. Check your AWS Secret " +
    "Access Key and signing method. Consult the service documentation for details.";
  throw new Ec2Fault("SignatureDoesNotMatch", text);
}

function checkTime(date: string, now: number, answer: SkewAnswer): void {
  const at = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
  if (Number.isNaN(at)) throw new Ec2Fault("IncompleteSignature", "Date must be in ISO-8601 'basic format'.");
  if (Math.abs(now - at) <= TOLERANCE_MS) return;
  const basic = (ms: number) => new Date(ms).toISOString().replace(/[-:]|\.\d+/g, "");
  const [word, rest] =
    at < now ? ["expired", "is now earlier than"] : ["not yet current", "is still later than"];
  const bound = basic(now + (at < now ? -TOLERANCE_MS : TOLERANCE_MS));
  const sign = at < now ? "-" : "+";
  const texts: Record<SkewAnswer, string> = {
    RequestExpired: "Request has expired.",
    AuthFailure: NOT_VALID,
    SignatureDoesNotMatch: `Signature ${word}: ${date} ${rest} ${bound} (${basic(now)} ${sign} 5 min.)`,
  };
  throw new Ec2Fault(answer, texts[answer]);
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
