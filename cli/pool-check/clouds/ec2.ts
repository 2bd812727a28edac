// Can this pool make machines of EC2, by what EC2 says of calls that it does not make?
import { keysIn } from "../../../src/providers/ec2/keys.ts";
import type { Ec2Config } from "../../../src/schema/pool/providers/clouds.ts";
import { type Refusal, refused } from "../facts.ts";
import { CREDENTIALS, type Finding, missing, ok, unknown } from "../finding.ts";
import { listed, type Subject, type Wanted } from "../subject.ts";
import { askingEc2, type Ec2Facts, readEc2, readMachines, type Try } from "./ec2-facts.ts";
import { typeFinding } from "./places.ts";

const POLICY = "docs/clouds/ec2.md has the whole policy";
const NEW_KEYS = "Make an access key: aws iam create-access-key --user-name USER. Or correct the region";

/** Reads what EC2 says, and judges it. Nothing is created or changed (clouds/ec2.md#checks). */
export async function checkEc2(
  subject: Subject<Ec2Config>,
  credentials: string,
  now: () => number,
): Promise<Finding[]> {
  const read = keysIn(credentials);
  if ("failure" in read) return [missing(CREDENTIALS, read.failure.text, NEW_KEYS)];
  const asking = askingEc2(subject.provider, read.keys, now);
  const machines = await readMachines(asking, subject.name);
  const isStranger = "refusal" in machines && machines.refusal.code !== "UnauthorizedOperation";
  if (isStranger) return [refused(CREDENTIALS, machines.refusal, NEW_KEYS)];
  return judgeEc2(subject, await readEc2(asking, read.keys, subject, machines, now));
}

/** What these facts say about the pool. */
export function judgeEc2(subject: Subject<Ec2Config>, facts: Ec2Facts): Finding[] {
  const { machines, spot, creates } = facts;
  return [
    ok(CREDENTIALS, `Amazon takes the keys in ${subject.provider.region}`),
    "data" in machines
      ? ok("ec2:DescribeInstances", `it shows ${machines.data.length} machines of the pool`)
      : denied("ec2:DescribeInstances", machines.refusal),
    ...imageFindings(subject, facts.image),
    ...subject.wanted.map((wanted) => typeFindingOf(wanted, subject.provider, facts)),
    ...creates.map(createFinding),
    endFinding(facts.ends),
    ...(spot === undefined ? [] : [spotFinding(subject.wanted, spot)]),
    ...facts.limits.map((limit) => limitFinding(subject.provider, limit)),
  ];
}

function imageFindings(
  { config, provider, wanted }: Subject<Ec2Config>,
  image: Ec2Facts["image"],
): Finding[] {
  const check = "image";
  if ("refusal" in image) return [readRefused(check, image.refusal, "ec2:DescribeImages")];
  const todo =
    `Set \`image\` to one of: aws ec2 describe-images --region ${provider.region} ` +
    "--owners amazon 099720109477 --query 'Images[].[ImageId,Name]'";
  const { data } = image;
  if (data === null) return [missing(check, `${provider.region} has no image ${config.image}`, todo)];
  if (data.state !== "available") return [missing(check, `${config.image} is ${data.state}`, todo)];
  const others = wanted.filter(({ arch }) => arch !== data.arch);
  const arch =
    others.length === 0
      ? ok(check, `${config.image}, ${data.arch}`)
      : missing(check, `it is for ${data.arch}, and ${listed(others.map(({ name }) => name))} is not`, todo);
  if (data.rootDevice === "" || data.rootDevice === provider.rootDevice) return [arch];
  const evidence = `rootDevice is ${provider.rootDevice}, and that of the image is ${data.rootDevice}`;
  return [arch, missing("root device", evidence, `Set \`rootDevice\` to ${data.rootDevice}`)];
}

function typeFindingOf(wanted: Wanted, { subnets = {} }: Ec2Config, { types, offerings }: Ec2Facts): Finding {
  const check = `type ${wanted.name}`;
  if ("refusal" in types) return readRefused(check, types.refusal, "ec2:DescribeInstanceTypes");
  const real = types.data.get(wanted.type);
  const places = "data" in offerings ? offerings.data.get(wanted.type) : undefined;
  const offered = real === undefined ? undefined : { real, places };
  return typeFinding(wanted, offered, Object.keys(subnets), []);
}

/** A dry run that is not permitted names the action, if Amazon says it. */
function createFinding({ what, fact, untagged }: Try): Finding {
  const check = `make ${what}`;
  if ("data" in fact) return ok(check, "ec2:RunInstances and ec2:CreateTags are permitted");
  const { refusal } = fact;
  if (refusal.code !== "UnauthorizedOperation") return refused(check, refusal);
  const isOfTags = untagged !== undefined && "data" in untagged;
  return denied(check, refusal, actionIn(refusal) ?? (isOfTags ? "ec2:CreateTags" : "ec2:RunInstances"));
}

/** Without a machine, a policy that allows to end the pool's machines alone refuses the call. */
function endFinding({ fact, machine }: Ec2Facts["ends"]): Finding {
  const check = "ec2:TerminateInstances";
  if ("data" in fact) return ok(check, "it is permitted");
  if (machine)
    return fact.refusal.code === "UnauthorizedOperation"
      ? denied(check, fact.refusal)
      : refused(check, fact.refusal);
  const why =
    "the pool has no machine to try it with, and a policy may allow this for machines of the pool alone";
  return unknown(check, why, "Check again once the pool has a machine");
}

function spotFinding(wanted: readonly Wanted[], spot: NonNullable<Ec2Facts["spot"]>): Finding {
  const check = "spot prices";
  if ("refusal" in spot) return readRefused(check, spot.refusal, "ec2:DescribeSpotPriceHistory");
  const types = [...new Set(wanted.filter((one) => one.spot).map(({ type }) => type))];
  const texts = types.map((type) => {
    const prices = spot.data.filter((one) => one.type === type).map(({ price }) => price);
    if (prices.length === 0) return `${type}: none`;
    return `${type}: ${Math.min(...prices)} to ${Math.max(...prices)} USD an hour`;
  });
  return ok(check, texts.join("; "));
}

/** Whether all machines of the pool fit into a limit. What is used of it now, nobody asks. */
function limitFinding({ region }: Ec2Config, { need, fact }: Ec2Facts["limits"][number]): Finding {
  const { code, name, vcpus } = need;
  const check = `quota ${code}`;
  const at = `--region ${region} --service-code ec2 --quota-code ${code}`;
  if ("refusal" in fact) {
    const isDenied = /^AccessDenied/.test(fact.refusal.code ?? "");
    const why = isDenied ? "servicequotas:GetServiceQuota is not permitted" : fact.refusal.text;
    const evidence = `the pool may need ${vcpus} vCPUs of ${name}; ${why}`;
    return unknown(check, evidence, `Compare with: aws service-quotas get-service-quota ${at}`);
  }
  const evidence = `the pool may need ${vcpus} of ${fact.data} vCPUs of ${name}`;
  if (vcpus <= fact.data) return ok(check, evidence);
  const more = `aws service-quotas request-service-quota-increase ${at} --desired-value ${vcpus}`;
  return missing(check, evidence, `Lower \`maxInstances\` (--max), or run: ${more}`);
}

function denied(check: string, refusal: Refusal, action = actionIn(refusal) ?? check): Finding {
  return missing(
    check,
    `${action} is not permitted`,
    `Allow ${action} in the policy of these keys: ${POLICY}`,
  );
}

/** What only a check reads need not be permitted. */
function readRefused(check: string, refusal: Refusal, action: string): Finding {
  if (refusal.code !== "UnauthorizedOperation") return refused(check, refusal);
  return unknown(check, `${action} is not permitted`, `Allow ${action} to check this: ${POLICY}`);
}

/** The action that a refusal names. */
function actionIn({ text }: Refusal): string | undefined {
  return /not authorized to perform: ([\w-]+:\w+)/.exec(text)?.[1];
}
