// Which forms are sent to EC2's Query API? Each is byte for byte what Amazon's own client sends.
import type { Ec2Config } from "../../schema/pool/providers/clouds.ts";
import type { CreateInstance } from "../../schema/provider.ts";
import { base64 } from "../base64.ts";

/** The version of the API, which is the only one that is left. */
const VERSION = "2016-11-15";
const GIB = 2 ** 30;
/** EC2 pages a listing by up to 1,000. 100 machines are about half a megabyte of XML. */
const PAGE_SIZE = 100;

export type Action =
  | "RunInstances"
  | "DescribeInstances"
  | "TerminateInstances"
  | "DescribeSpotPriceHistory"
  | "GetConsoleOutput"
  // Only the checks of a pool (`cli/pool-check`) make these calls.
  | "DescribeImages"
  | "DescribeInstanceTypes"
  | "DescribeInstanceTypeOfferings";

/** The fields of a form, in order. */
export interface Form {
  action: Action;
  fields: [name: string, value: string][];
}

/** The form as the body of a request: every character but letters, digits and `-_.~` is escaped. */
export function encoded({ action, fields }: Form): string {
  const all: [string, string][] = [["Action", action], ["Version", VERSION], ...fields];
  return all.map(([name, value]) => `${name}=${escaped(value)}`).join("&");
}

function escaped(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/**
 * The create call (clouds/ec2.md#create): one machine, with the worker's name as its token. The subnet, if
 * there are subnets, and the zone decide where it is; with neither, EC2 takes a zone that has room. Nothing
 * in it may depend on the time or on chance, since the same token must come with the same bytes.
 */
export function runForm(config: Ec2Config, wanted: CreateInstance): Form {
  const { zone } = wanted;
  const subnet = subnetFor(config, zone);
  const fields: Form["fields"] = [
    ["MaxCount", "1"],
    ["MinCount", "1"],
    ...diskFields(config, wanted),
    ["ImageId", wanted.image],
    ["InstanceType", wanted.instanceType],
  ];
  if (subnet === undefined && zone !== undefined) fields.push(["Placement.AvailabilityZone", zone]);
  if (subnet === undefined) fields.push(...listed("SecurityGroupId", config.securityGroups));
  fields.push(["UserData", base64(wanted.userData)], ...tagFields(wanted));
  if (wanted.spot === true) fields.push(...SPOT);
  fields.push(
    ["MetadataOptions.HttpTokens", "required"],
    ["MetadataOptions.HttpPutResponseHopLimit", "1"],
    ["InstanceInitiatedShutdownBehavior", "terminate"],
    ["ClientToken", wanted.token],
  );
  if (subnet !== undefined) fields.push(...networkFields(config, subnet));
  if (config.instanceProfile !== undefined) fields.push(["IamInstanceProfile.Name", config.instanceProfile]);
  return { action: "RunInstances", fields };
}

/** The subnet of a machine. Undefined: none is configured for its zone, or none at all. */
export function subnetFor({ subnets }: Ec2Config, zone: string | undefined): string | undefined {
  if (subnets === undefined) return undefined;
  if (zone === undefined) return Object.values(subnets)[0];
  return Object.hasOwn(subnets, zone) ? subnets[zone] : undefined;
}

/** A request that is filled once, or not at all, and leaves nothing open (case 39). */
const SPOT: Form["fields"] = [
  ["InstanceMarketOptions.MarketType", "spot"],
  ["InstanceMarketOptions.SpotOptions.SpotInstanceType", "one-time"],
  ["InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior", "terminate"],
];

/** The root volume, which must go with its machine whatever the image says (case 32). */
function diskFields({ rootDevice }: Ec2Config, { resources }: CreateInstance): Form["fields"] {
  const sizeGib = Math.ceil(resources.diskBytes / GIB);
  const size: Form["fields"] = sizeGib > 0 ? [["BlockDeviceMapping.1.Ebs.VolumeSize", String(sizeGib)]] : [];
  return [
    ["BlockDeviceMapping.1.Ebs.DeleteOnTermination", "true"],
    ...size,
    ["BlockDeviceMapping.1.Ebs.VolumeType", "gp3"],
    ["BlockDeviceMapping.1.DeviceName", rootDevice],
  ];
}

/** The tags are set by the create call itself, on everything that costs money (case 27). */
function tagFields({ tags, spot, name }: CreateInstance): Form["fields"] {
  const all = Object.entries({ Name: name, ...tags });
  const kinds = ["instance", "volume", "network-interface"];
  if (spot === true) kinds.push("spot-instances-request");
  return kinds.flatMap((kind, index) => {
    const specification = `TagSpecification.${index + 1}`;
    const pairs = all.flatMap(([key, value], at): Form["fields"] => [
      [`${specification}.Tag.${at + 1}.Key`, key],
      [`${specification}.Tag.${at + 1}.Value`, value],
    ]);
    const of: Form["fields"] = [[`${specification}.ResourceType`, kind]];
    return [...of, ...pairs];
  });
}

function networkFields({ publicIp, securityGroups }: Ec2Config, subnet: string): Form["fields"] {
  return [
    ["NetworkInterface.1.AssociatePublicIpAddress", String(publicIp)],
    ["NetworkInterface.1.DeleteOnTermination", "true"],
    ["NetworkInterface.1.DeviceIndex", "0"],
    ...listed("NetworkInterface.1.SecurityGroupId", securityGroups),
    ["NetworkInterface.1.SubnetId", subnet],
  ];
}

/**
 * Machines by a filter, a page at a time. `next`: the token that the page before has named. The value is
 * meant as it is, so its wildcards are escaped.
 */
export function describeByFilter(filter: string, value: string, next?: string): Form {
  const fields: Form["fields"] = [
    ["Filter.1.Name", filter],
    ["Filter.1.Value.1", value.replace(/[*?\\]/g, "\\$&")],
  ];
  if (next !== undefined) fields.push(["NextToken", next]);
  fields.push(["MaxResults", String(PAGE_SIZE)]);
  return { action: "DescribeInstances", fields };
}

/** Machines by their ids. One id that EC2 does not know fails the whole call. */
export function describeByIds(ids: readonly string[]): Form {
  return { action: "DescribeInstances", fields: listed("InstanceId", ids) };
}

/** One machine alone: of several, one wrong id would save all others (case 42). */
export function terminateForm(id: string): Form {
  return { action: "TerminateInstances", fields: listed("InstanceId", [id]) };
}

/** The output of one machine's console; `isLatest`: as it is now, and not as it was after the boot. */
export function consoleForm(id: string, isLatest: boolean): Form {
  const latest: Form["fields"] = isLatest ? [["Latest", "true"]] : [];
  return { action: "GetConsoleOutput", fields: [["InstanceId", id], ...latest] };
}

/** The present spot prices of these types, in all zones. `at`: now. */
export function spotPricesForm(types: readonly string[], at: number, next?: string): Form {
  const instant = new Date(at).toISOString().replace(/\.\d+Z$/, "Z");
  const fields: Form["fields"] = [
    ["StartTime", instant],
    ["EndTime", instant],
    ...listed("InstanceType", types),
    ["ProductDescription.1", "Linux/UNIX"],
  ];
  if (next !== undefined) fields.push(["NextToken", next]);
  return { action: "DescribeSpotPriceHistory", fields };
}

function listed(name: string, values: readonly string[]): Form["fields"] {
  return values.map((value, index) => [`${name}.${index + 1}`, value]);
}
