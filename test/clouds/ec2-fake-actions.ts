// What a fake EC2 does for each action, besides making machines, and how it writes a machine.
import { ACCOUNT, type Ec2Cloud, type FakeInstance, type State, stateCode } from "./ec2-fake-cloud.ts";
import { dryRun, runInstances, type Tokens } from "./ec2-fake-run.ts";
import { Ec2Fault, type Node, type Params } from "./ec2-fake-wire.ts";

type Content = { [name: string]: Node };
type Do = (cloud: Ec2Cloud, tokens: Tokens, params: Params) => Content;

export const ACTIONS: Readonly<Record<string, Do>> = {
  RunInstances: (cloud, tokens, params) => {
    const instance = runInstances(cloud, tokens, params);
    return reservationOf(cloud, instance, instance.state);
  },
  DescribeInstances: (cloud, _tokens, params) => describeInstances(cloud, params),
  TerminateInstances: (cloud, _tokens, params) => terminateInstances(cloud, params),
  GetConsoleOutput: (cloud, _tokens, params) => getConsoleOutput(cloud, params),
  DescribeSpotPriceHistory: (cloud, _tokens, params) => describeSpotPriceHistory(cloud, params),
  DescribeImages: (cloud, _tokens, params) => describeImages(cloud, params),
  DescribeInstanceTypes: (cloud, _tokens, params) => describeInstanceTypes(cloud, params),
  DescribeInstanceTypeOfferings: (cloud, _tokens, params) => describeOfferings(cloud, params),
};

function describeInstances(cloud: Ec2Cloud, params: Params): Content {
  const ids = params.list("InstanceId");
  const size = params.get("MaxResults");
  if (params.get("DryRun") === "true") throw dryRun();
  if (size !== undefined && ids.length > 0) {
    const text = "The parameter instancesSet cannot be used with the parameter maxResults";
    throw new Ec2Fault("InvalidParameterCombination", text);
  }
  const most = Number(size ?? 1_000);
  if (!(most >= 5 && most <= 1_000)) {
    throw new Ec2Fault("InvalidParameterValue", `Value ( ${size} ) for parameter maxResults is invalid.`);
  }
  const asked = ids.length === 0 ? cloud.instances.values() : named(cloud, ids);
  cloud.failIfOut(ids.length === 0 ? cloud.faults.zoneOutage : [...asked].map(({ zone }) => zone));
  const all = ids.length === 0 ? [...cloud.instances.values()] : named(cloud, ids);
  const shown = all.flatMap((instance) => {
    const state = cloud.shown(instance);
    return state !== undefined && matches(cloud, instance, state, params) ? [{ instance, state }] : [];
  });
  const { from, next } = pageAt(cloud, params.get("NextToken"), most, shown.length);
  const page = from === undefined ? [] : shown.slice(from, from + most);
  return {
    reservationSet: page.map(({ instance, state }) => reservationOf(cloud, instance, state)),
    nextToken: next,
  };
}

/** Where a page begins, and the token of the one after it. */
function pageAt(
  { faults }: Ec2Cloud,
  token: string | undefined,
  most: number,
  length: number,
): { from: number | undefined; next: string | undefined } {
  if (token === undefined && faults.emptyPages) return { from: undefined, next: tokenOf(0) };
  const from =
    token === undefined ? 0 : Number(Buffer.from(token, "base64").toString().slice("from:".length));
  if (!Number.isInteger(from)) throw new Ec2Fault("InvalidPaginationToken", "The token is not valid.");
  return { from, next: from + most < length ? tokenOf(from + most) : undefined };
}

function tokenOf(from: number): string {
  return Buffer.from(`from:${from}`).toString("base64");
}

/** The machines with these ids. One that is not known fails the whole call. */
function named(cloud: Ec2Cloud, ids: readonly string[]): FakeInstance[] {
  const odd = ids.find((id) => !/^i-[0-9a-f]{8,17}$/.test(id));
  if (odd !== undefined) {
    throw new Ec2Fault("InvalidInstanceID.Malformed", `Invalid id: "${odd}" (expecting "i-...")`);
  }
  const unknown = ids.filter((id) => {
    const instance = cloud.instances.get(id);
    return instance === undefined || cloud.shown(instance) === undefined;
  });
  if (unknown.length > 0) {
    const which = unknown.length === 1 ? `ID '${unknown[0]}' does` : `IDs '${unknown.join(", ")}' do`;
    throw new Ec2Fault("InvalidInstanceID.NotFound", `The instance ${which} not exist`);
  }
  return ids.map((id) => cloud.named(id));
}

function matches(cloud: Ec2Cloud, instance: FakeInstance, state: State, params: Params): boolean {
  return params.structures("Filter").every((filter) => {
    const name = filter.need("Name");
    const patterns = filter.list("Value").map(patternOf);
    return valuesOf(cloud, instance, state, name).some((value) => patterns.some((one) => one.test(value)));
  });
}

function valuesOf(_cloud: Ec2Cloud, instance: FakeInstance, state: State, filter: string): string[] {
  const { tags, token, id, zone, type } = instance;
  if (filter.startsWith("tag:")) return [tags[filter.slice(4)] ?? []].flat();
  switch (filter) {
    case "tag-key":
      return Object.keys(tags);
    case "client-token":
      return [token ?? []].flat();
    case "instance-id":
      return [id];
    case "instance-state-name":
      return [state];
    case "availability-zone":
      return [zone];
    case "instance-type":
      return [type];
    default:
      throw new Ec2Fault("InvalidParameterValue", `The filter '${filter}' is invalid`);
  }
}

/** `*` is any text, `?` any character, and a backslash takes both their meaning. */
function patternOf(value: string): RegExp {
  const parts = value.match(/\\.|[^\\]/gs) ?? [];
  const source = parts.map((part) => {
    if (part === "*") return ".*";
    if (part === "?") return ".";
    return part.replace(/^\\/, "").replace(/[.*+?^${}()|[\]\\]/, "\\$&");
  });
  return new RegExp(`^${source.join("")}$`, "s");
}

/** Ends all of these machines, or none. */
function terminateInstances(cloud: Ec2Cloud, params: Params): Content {
  const instances = named(cloud, params.list("InstanceId"));
  if (instances.length === 0) params.need("InstanceId.1");
  cloud.failIfOut(instances.map(({ zone }) => zone));
  if (params.get("DryRun") === "true") throw dryRun();
  const kept = instances.find(({ isProtected }) => isProtected);
  if (kept !== undefined) {
    const text =
      `The instance '${kept.id}' may not be terminated. Modify its 'disableApiTermination' instance ` +
      "attribute and try again.";
    throw new Ec2Fault("OperationNotPermitted", text);
  }
  const changes = instances.map((instance) => {
    const previousState = stateNode(instance.state);
    cloud.terminate(instance);
    return { instanceId: instance.id, currentState: stateNode(instance.state), previousState };
  });
  return { instancesSet: changes };
}

/** Only some types of machines show their latest output. What is kept is 64 KiB. */
function getConsoleOutput(cloud: Ec2Cloud, params: Params): Content {
  const [instance] = named(cloud, [params.need("InstanceId")]);
  if (instance === undefined) throw new Error("one id names one machine");
  if (params.get("Latest") === "true" && !cloud.hasLatestConsole) {
    throw new Ec2Fault(
      "UnsupportedOperation",
      "This instance type does not support retrieving the latest console logs",
    );
  }
  const { id: instanceId } = instance;
  const console = cloud.consoles.get(instanceId);
  const timestamp = new Date(cloud.now).toISOString();
  if (console === undefined) return { instanceId, timestamp };
  return { instanceId, timestamp, output: Buffer.from(console).subarray(-65_536).toString("base64") };
}

/** The latest prices, an older one of each, and those of another system. */
function describeSpotPriceHistory(cloud: Ec2Cloud, params: Params): Content {
  const types = params.list("InstanceType");
  const products = params.list("ProductDescription");
  const rows = Object.entries(cloud.spotPrices).flatMap(([key, price]) => {
    const [instanceType = "", availabilityZone = ""] = key.split("@");
    const row = (productDescription: string, spotPrice: number, ageMs: number) => ({
      instanceType,
      productDescription,
      spotPrice: spotPrice.toFixed(6),
      timestamp: new Date(cloud.now - ageMs).toISOString(),
      availabilityZone,
    });
    return [
      row("Linux/UNIX", price, 600_000),
      row("Windows", price * 2, 600_000),
      row("Linux/UNIX", price * 1.5, 7_200_000),
    ];
  });
  const chosen = rows.filter(
    ({ instanceType, productDescription }) =>
      (types.length === 0 || types.includes(instanceType)) &&
      (products.length === 0 || products.includes(productDescription)),
  );
  const most = Number(params.get("MaxResults") ?? 1_000);
  const { from = 0, next } = pageAt(cloud, params.get("NextToken"), most, chosen.length);
  return { spotPriceHistorySet: chosen.slice(from, from + most), nextToken: next ?? "" };
}

/** Images of others that an account may not use are not shown to it. */
function describeImages({ images }: Ec2Cloud, params: Params): Content {
  const ids = params.list("ImageId");
  const unknown = ids.filter((id) => images[id]?.isAllowed !== true);
  if (unknown.length > 0) {
    throw new Ec2Fault("InvalidAMIID.NotFound", `The image id '[${unknown.join(", ")}]' does not exist`);
  }
  return {
    imagesSet: ids.map((imageId) => ({
      imageId,
      imageState: images[imageId]?.isAvailable === true ? "available" : "deregistered",
      architecture: "x86_64",
      imageType: "machine",
      rootDeviceType: "ebs",
      rootDeviceName: images[imageId]?.rootDevice,
      virtualizationType: "hvm",
    })),
  };
}

/** The types that pass the only filter that is known here: by name. */
function typesOf({ types }: Ec2Cloud, params: Params): [string, Ec2Cloud["types"][string]][] {
  const [filter] = params.structures("Filter");
  if (filter?.get("Name") !== "instance-type") {
    throw new Ec2Fault("InvalidParameterValue", `The filter '${filter?.get("Name")}' is invalid`);
  }
  const wanted = filter.list("Value");
  return Object.entries(types).filter(([name]) => wanted.includes(name));
}

function describeInstanceTypes(cloud: Ec2Cloud, params: Params): Content {
  return {
    instanceTypeSet: typesOf(cloud, params).map(([instanceType, { vcpus, memoryGib, arch }]) => ({
      instanceType,
      currentGeneration: true,
      processorInfo: { supportedArchitectures: [arch ?? "x86_64"] },
      vCpuInfo: { defaultVCpus: vcpus },
      memoryInfo: { sizeInMiB: memoryGib * 1_024 },
    })),
  };
}

function describeOfferings(cloud: Ec2Cloud, params: Params): Content {
  const locationType = params.need("LocationType");
  return {
    instanceTypeOfferingSet: typesOf(cloud, params).flatMap(([instanceType, { zones }]) =>
      zones.map((location) => ({ instanceType, locationType, location })),
    ),
  };
}

function stateNode(state: State): Node {
  return { code: stateCode(state), name: state };
}

function tagNodes(tags: Record<string, string>): Node[] {
  return Object.entries(tags).map(([key, value]) => ({ key, value }));
}

function reservationOf(cloud: Ec2Cloud, instance: FakeInstance, state: State): Content {
  return {
    reservationId: `r-${instance.id.slice(2)}`,
    ownerId: ACCOUNT,
    groupSet: [],
    instancesSet: [instanceNode(cloud, instance, state)],
  };
}

function instanceNode({ faults, images }: Ec2Cloud, instance: FakeInstance, state: State): Node {
  const { id, reason, spot, tags, volumes, zone } = instance;
  const ends = state === "terminated";
  const isNow = state === instance.state;
  const unknown = faults.unknownFields ? { quantumLink: [{ qubits: 7, name: "<none>" }] } : {};
  return {
    ...unknown,
    instanceId: id,
    imageId: instance.image,
    instanceState: stateNode(state),
    privateDnsName: ends
      ? ""
      : `ip-${instance.privateIp.replaceAll(".", "-")}.${zone.slice(0, -1)}.compute.internal`,
    dnsName: "",
    reason: isNow ? instance.transition : "",
    amiLaunchIndex: 0,
    productCodes: [],
    instanceType: instance.type,
    launchTime: new Date(instance.launchedAt).toISOString(),
    placement: { availabilityZone: zone, groupName: "", tenancy: "default" },
    monitoring: { state: "disabled" },
    ...(ends
      ? {}
      : { subnetId: instance.subnet, vpcId: "vpc-00000001", privateIpAddress: instance.privateIp }),
    ipAddress: state === "running" ? instance.publicIp : undefined,
    sourceDestCheck: true,
    groupSet: instance.securityGroups.map((groupId) => ({ groupId, groupName: "drover & <co>" })),
    stateReason: isNow && reason !== undefined ? { code: reason.code, message: reason.message } : undefined,
    architecture: "x86_64",
    rootDeviceType: "ebs",
    rootDeviceName: images[instance.image]?.rootDevice,
    blockDeviceMapping: ends
      ? []
      : volumes.map(({ device, id: volumeId, deleteOnTermination }) => ({
          deviceName: device,
          ebs: { volumeId, status: "attached", deleteOnTermination },
        })),
    virtualizationType: "hvm",
    clientToken: instance.token ?? "",
    tagSet: tagNodes(tags),
    hypervisor: "xen",
    ...(spot === undefined ? {} : { instanceLifecycle: "spot", spotInstanceRequestId: spot.id }),
    ebsOptimized: false,
    enaSupport: true,
    metadataOptions: {
      state: "applied",
      httpTokens: instance.httpTokens,
      httpPutResponseHopLimit: instance.hopLimit,
      httpEndpoint: "enabled",
    },
  };
}
