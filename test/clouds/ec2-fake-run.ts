// What a fake EC2 does for `RunInstances`: what it refuses, what a token means, and what is made.

import type { Ec2Cloud, FakeInstance, FakeVolume } from "./ec2-fake-cloud.ts";
import { Ec2Fault, type Params } from "./ec2-fake-wire.ts";
import { quotaGroupOf } from "./ec2-families.ts";

const MAX_USER_DATA_BYTES = 16_384;

/** The parameters of `RunInstances` that are known here: EC2 refuses any other. */
const KNOWN = [
  /^(?:Action|Version|ImageId|InstanceType|MinCount|MaxCount|ClientToken|UserData|DryRun|SubnetId|KeyName)$/,
  /^InstanceInitiatedShutdownBehavior$/,
  /^SecurityGroupId\.\d+$/,
  /^Placement\.(?:AvailabilityZone|Tenancy)$/,
  /^IamInstanceProfile\.(?:Name|Arn)$/,
  /^MetadataOptions\.(?:HttpTokens|HttpPutResponseHopLimit|HttpEndpoint|InstanceMetadataTags)$/,
  /^BlockDeviceMapping\.\d+\.(?:DeviceName|Ebs\.(?:DeleteOnTermination|VolumeSize|VolumeType|Encrypted))$/,
  /^NetworkInterface\.\d+\.(?:AssociatePublicIpAddress|DeleteOnTermination|DeviceIndex|SubnetId)$/,
  /^NetworkInterface\.\d+\.(?:SecurityGroupId\.\d+|Ipv6AddressCount)$/,
  /^TagSpecification\.\d+\.(?:ResourceType|Tag\.\d+\.(?:Key|Value))$/,
  /^InstanceMarketOptions\.MarketType$/,
  /^InstanceMarketOptions\.SpotOptions\.(?:SpotInstanceType|InstanceInterruptionBehavior|MaxPrice)$/,
];

/** What a token was used for. No instance: the request was refused. */
interface Use {
  fingerprint: string;
  instance: string | undefined;
}

/** The tokens that were used, by themselves or with the zone that was named. */
export type Tokens = Map<string, Use>;

/** Where a machine goes, and what it is. */
interface Plan {
  image: string;
  type: string;
  /** The zone that was named. Undefined: any. */
  zone: string | undefined;
  subnet: string | undefined;
  groups: string[];
  hasPublicIp: boolean;
  isSpot: boolean;
  tags: Record<string, Record<string, string>>;
  disks: Omit<FakeVolume, "id" | "tags">[];
  userData: string;
}

/**
 * Makes a machine, or finds the one that was made with the token before. A token holds for the bytes it came
 * with, also if the request was refused, and for one zone if a zone was named.
 */
export function runInstances(cloud: Ec2Cloud, tokens: Tokens, params: Params): FakeInstance {
  const plan = planOf(cloud, params);
  if (params.get("DryRun") === "true") throw dryRun();
  const token = params.get("ClientToken");
  const key = plan.zone === undefined ? token : `${token} ${plan.zone}`;
  const use = key === undefined ? undefined : tokens.get(key);
  const fingerprint = params.fingerprint(["Action", "Version", "DryRun"]);
  if (use !== undefined && use.fingerprint !== fingerprint) {
    const text =
      "Arguments on this idempotent request are inconsistent with arguments used in previous request(s).";
    throw new Ec2Fault("IdempotentParameterMismatch", text);
  }
  if (use?.instance !== undefined) {
    const known = cloud.instances.get(use.instance);
    if (known !== undefined && known.state !== "terminated") return known;
    const text =
      "The client token you have provided is associated with a terminated instance. Please use a different " +
      "client token.";
    throw new Ec2Fault("IdempotentInstanceTerminated", text);
  }
  const note = (instance?: string) => {
    if (key !== undefined) tokens.set(key, { fingerprint, instance });
  };
  note();
  const zone = zoneFor(cloud, plan);
  const instance = instanceOf(cloud, plan, zone, params);
  cloud.add(instance);
  note(instance.id);
  return cloud.named(instance.id);
}

export function dryRun(): Ec2Fault {
  return new Ec2Fault("DryRunOperation", "Request would have succeeded, but DryRun flag is set.");
}

function invalid(text: string): Ec2Fault {
  return new Ec2Fault("InvalidParameterValue", text);
}

function planOf(cloud: Ec2Cloud, params: Params): Plan {
  for (const name of params.names) {
    if (KNOWN.some((known) => known.test(name))) continue;
    throw new Ec2Fault("UnknownParameter", `The parameter ${name} is not recognized`);
  }
  const type = params.need("InstanceType");
  if (params.need("MinCount") !== "1" || params.need("MaxCount") !== "1") throw invalid("one machine a call");
  if (cloud.types[type] === undefined) throw invalid(`Invalid value '${type}' for InstanceType.`);
  const token = params.get("ClientToken") ?? "";
  if (token.length > 64) throw new Ec2Fault("InvalidClientToken", "The client token is too long");
  const isSpot = params.get("InstanceMarketOptions.MarketType") === "spot";
  const profile = params.get("IamInstanceProfile.Name");
  if (profile !== undefined && !cloud.profiles.includes(profile)) {
    const value = `Value (${profile}) for parameter iamInstanceProfile.name is invalid.`;
    throw invalid(`${value} Invalid IAM Instance Profile name`);
  }
  const image = imageOf(cloud, params);
  return {
    image,
    type,
    ...networkOf(cloud, params),
    isSpot,
    tags: tagsOf(params, isSpot),
    disks: disksOf(cloud, image, params),
    userData: userDataOf(params),
  };
}

function imageOf(cloud: Ec2Cloud, params: Params): string {
  const id = params.need("ImageId");
  if (!/^ami-[0-9a-f]{8,17}$/.test(id)) {
    throw new Ec2Fault("InvalidAMIID.Malformed", `Invalid id: "${id}" (expecting "ami-...")`);
  }
  const image = cloud.images[id];
  if (image === undefined)
    throw new Ec2Fault("InvalidAMIID.NotFound", `The image id '[${id}]' does not exist`);
  if (!image.isAvailable) {
    throw new Ec2Fault("InvalidAMIID.Unavailable", `The image ID '${id}' is not available`);
  }
  if (!image.isAllowed) throw new Ec2Fault("AuthFailure", `Not authorized for images: [${id}]`);
  return id;
}

function userDataOf(params: Params): string {
  const encoded = params.get("UserData") ?? "";
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(encoded)) {
    throw new Ec2Fault("InvalidUserData.Malformed", `Invalid BASE64 encoding of user data: ${encoded}`);
  }
  const bytes = Buffer.from(encoded, "base64");
  if (bytes.length > MAX_USER_DATA_BYTES) throw invalid("User data is limited to 16384 bytes");
  return bytes.toString();
}

function networkOf(
  cloud: Ec2Cloud,
  params: Params,
): Pick<Plan, "zone" | "subnet" | "groups" | "hasPublicIp"> {
  const [network] = params.structures("NetworkInterface");
  const onTop = params.get("SubnetId");
  const groupsOnTop = params.list("SecurityGroupId");
  if (network !== undefined && (onTop !== undefined || groupsOnTop.length > 0)) {
    const text =
      "Network interfaces and an instance-level subnet ID may not be specified on the same request";
    throw new Ec2Fault("InvalidParameterCombination", text);
  }
  const subnet = network?.get("SubnetId") ?? onTop;
  const groups = network?.list("SecurityGroupId") ?? groupsOnTop;
  const named = params.get("Placement.AvailabilityZone");
  if (subnet === undefined && cloud.faults.noDefaultVpc) {
    const text = "No default VPC for this user. GroupName is only supported for EC2-Classic and default VPC.";
    throw new Ec2Fault("VPCIdNotSpecified", text);
  }
  const zone = subnet === undefined ? named : cloud.subnets[subnet];
  if (subnet !== undefined && zone === undefined) {
    throw new Ec2Fault("InvalidSubnetID.NotFound", `The subnet ID '${subnet}' does not exist`);
  }
  if (zone !== undefined && !Object.values(cloud.subnets).includes(zone)) {
    throw invalid(`Invalid availability zone: [${zone}]`);
  }
  for (const group of groups) {
    if (cloud.securityGroups.includes(group)) continue;
    throw new Ec2Fault("InvalidGroup.NotFound", `The security group '${group}' does not exist`);
  }
  return { zone, subnet, groups, hasPublicIp: network?.get("AssociatePublicIpAddress") !== "false" };
}

function tagsOf(params: Params, isSpot: boolean): Plan["tags"] {
  const found: Plan["tags"] = {};
  for (const specification of params.structures("TagSpecification")) {
    const kind = specification.need("ResourceType");
    if (kind === "spot-instances-request" && !isSpot) {
      throw invalid(`'${kind}' is not a valid taggable resource type for this operation.`);
    }
    const pairs = specification.structures("Tag").map((tag) => [tag.need("Key"), tag.get("Value") ?? ""]);
    found[kind] = Object.fromEntries(pairs);
  }
  return found;
}

/** The image's root device, as the request changes it, and further disks. */
function disksOf(cloud: Ec2Cloud, id: string, params: Params): Plan["disks"] {
  const image = cloud.images[id];
  if (image === undefined) return [];
  const { rootDevice: device, snapshotGib, deleteOnTermination } = image;
  const disks = new Map([[device, { device, sizeGib: snapshotGib, deleteOnTermination }]]);
  for (const mapping of params.structures("BlockDeviceMapping")) {
    const name = mapping.need("DeviceName");
    const size = mapping.get("Ebs.VolumeSize");
    const known = disks.get(name);
    if (known === undefined && size === undefined) {
      throw new Ec2Fault("MissingParameter", "The request must contain the parameter size or snapshotId");
    }
    const sizeGib = Number(size ?? known?.sizeGib);
    if (sizeGib < (known?.sizeGib ?? 1)) {
      const least = `expect size >= ${snapshotGib}GB`;
      const text = `Volume of size ${sizeGib}GB is smaller than snapshot 'snap-1', ${least}`;
      throw new Ec2Fault("InvalidBlockDeviceMapping", text);
    }
    const said = mapping.get("Ebs.DeleteOnTermination");
    const goes = said === undefined ? (known?.deleteOnTermination ?? true) : said === "true";
    disks.set(name, { device: name, sizeGib, deleteOnTermination: goes });
  }
  return [...disks.values()];
}

/** Chooses the zone, or says why there is none. */
function zoneFor(cloud: Ec2Cloud, plan: Plan): string {
  const { type, isSpot, zone: named, subnet } = plan;
  const { faults } = cloud;
  if (faults.isPendingVerification) {
    const text =
      "Your request for accessing resources in this region is being validated, and you will not be able to " +
      "launch additional resources in this region until the validation is complete.";
    throw new Ec2Fault("PendingVerification", text);
  }
  if (isSpot && faults.noSpotRole) {
    const text =
      "The provided credentials do not have permission to create the service-linked role for EC2 Spot " +
      "Instances.";
    throw new Ec2Fault("AuthFailure.ServiceLinkedRoleCreationNotPermitted", text);
  }
  checkQuota(cloud, plan);
  const offered = cloud.types[type]?.zones ?? [];
  const others = offered.join(", ");
  if (named !== undefined && !offered.includes(named)) {
    const where = `in your requested Availability Zone (${named})`;
    const text = `Your requested instance type (${type}) is not supported ${where}.`;
    const hint = `Please retry your request by not specifying an Availability Zone or choosing ${others}.`;
    throw new Ec2Fault("Unsupported", `${text} ${hint}`);
  }
  if (named !== undefined) cloud.failIfOut([named]);
  const how = subnet === undefined ? undefined : faults.fullSubnets.get(subnet);
  if (how !== undefined) {
    const rest = "to satisfy the requested number of instances";
    const text = `There are not enough free addresses in subnet '${subnet}' ${rest}.`;
    throw new Ec2Fault(how === "code" ? "InsufficientFreeAddressesInSubnet" : "InvalidParameterValue", text);
  }
  const isFull = (zone: string) =>
    [type, `${type}@${zone}`, `${type}@${zone}:spot`].some(
      (key) => faults.noCapacity.has(key) && (isSpot || !key.endsWith(":spot")),
    );
  const free = offered.filter((zone) => !isFull(zone) && !faults.zoneOutage.has(zone));
  const zone = named === undefined ? free[0] : free.find((one) => one === named);
  if (zone !== undefined) return zone;
  const where = named === undefined ? "this region" : `the Availability Zone you requested (${named})`;
  const text = isSpot
    ? "There is no Spot capacity available that matches your request."
    : `We currently do not have sufficient ${type} capacity in ${where}. Our system will be working on ` +
      `provisioning additional capacity. You can currently get ${type} capacity by not specifying an ` +
      `Availability Zone in your request or choosing ${free.join(", ")}.`;
  throw new Ec2Fault("InsufficientInstanceCapacity", text);
}

function checkQuota(cloud: Ec2Cloud, { type, isSpot }: Plan): void {
  const group = quotaGroupOf(type);
  const limit = cloud.faults.vcpuLimits[isSpot ? `${group}:spot` : group] ?? Infinity;
  if (cloud.vcpusOf(group, isSpot) + (cloud.types[type]?.vcpus ?? 0) <= limit) return;
  if (isSpot) throw new Ec2Fault("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded");
  const text =
    `You have requested more vCPU capacity than your current vCPU limit of ${limit} allows for the ` +
    "instance bucket that the specified instance type belongs to. Please visit " +
    "http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit.";
  throw new Ec2Fault("VcpuLimitExceeded", text);
}

function instanceOf(cloud: Ec2Cloud, plan: Plan, zone: string, params: Params): FakeInstance {
  const { tags } = plan;
  const defaultSubnet = Object.entries(cloud.subnets).find(([, where]) => where === zone)?.[0];
  const id = cloud.newId("i");
  const spot = {
    id: cloud.newId("sir"),
    state: "active" as const,
    tags: tags["spot-instances-request"] ?? {},
  };
  const spotType = params.get("InstanceMarketOptions.SpotOptions.SpotInstanceType") ?? "one-time";
  const host = cloud.instances.size + 10;
  return {
    id,
    token: params.get("ClientToken"),
    image: plan.image,
    type: plan.type,
    zone,
    subnet: plan.subnet ?? defaultSubnet ?? "",
    state: "pending",
    launchedAt: cloud.now,
    runsAt: undefined,
    stoppedAt: undefined,
    endedAt: undefined,
    reason: { code: "pending", message: "pending" },
    transition: "",
    tags: tags.instance ?? {},
    userData: plan.userData,
    shutdownBehavior: params.get("InstanceInitiatedShutdownBehavior") ?? "stop",
    hopLimit: Number(params.get("MetadataOptions.HttpPutResponseHopLimit") ?? "2"),
    httpTokens: params.get("MetadataOptions.HttpTokens") ?? "optional",
    profile: params.get("IamInstanceProfile.Name"),
    securityGroups: plan.groups.length > 0 ? plan.groups : ["sg-00000000"],
    publicIp: plan.hasPublicIp ? `198.51.100.${host}` : undefined,
    privateIp: `10.0.0.${host}`,
    networkTags: tags["network-interface"] ?? {},
    volumes: plan.disks.map((disk) => ({ ...disk, id: cloud.newId("vol"), tags: tags.volume ?? {} })),
    spot: plan.isSpot ? { ...spot, type: spotType } : undefined,
    failsWith: undefined,
    isStuck: false,
    isProtected: false,
    takenAt: undefined,
    history: [{ at: cloud.now, state: "pending" }],
  };
}
