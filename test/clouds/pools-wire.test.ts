import {
  DescribeImagesCommand,
  DescribeInstanceTypeOfferingsCommand,
  DescribeInstanceTypesCommand,
  EC2Client,
  TerminateInstancesCommand,
} from "@aws-sdk/client-ec2";
import { compute } from "@googleapis/compute";
import { JWTAccess } from "google-auth-library";
import { describe, expect, it } from "vitest";
import { askingEc2, readImage, readTypes } from "../../cli/pool-check/clouds/ec2-facts.ts";
import { dryRun, offeringsForm } from "../../cli/pool-check/clouds/ec2-forms.ts";
import { checkGce } from "../../cli/pool-check/clouds/gce.ts";
import { wantedOf } from "../../cli/pool-check/subject.ts";
import { terminateForm } from "../../src/providers/ec2/forms.ts";
import { GceConfig } from "../../src/schema/pool/providers/clouds.ts";
import { PutPoolConfig } from "../../src/schema/pool.ts";
import { type Ec2Fake, KEYS, REGION, startEc2 } from "./ec2-fake.ts";
import { KEY, PROJECT, startGce, ZONES } from "./gce-fake.ts";
import { configOf, IMAGE } from "./support/ec2.ts";

// The clouds' own clients ask what the checks of a pool ask, and read what the fakes answer. So neither the
// checks nor the fakes are merely what Drover believes (clouds.md#checks).

/** The fields of the latest call, in no order: EC2 needs none of reads. */
const fieldsOf = ({ cloud }: Ec2Fake) => [...new URLSearchParams(cloud.calls.at(-1)?.body)].sort();

describe("EC2", () => {
  async function started() {
    const fake = await startEc2();
    const client = new EC2Client({ region: REGION, endpoint: fake.url, credentials: KEYS, maxAttempts: 1 });
    return { fake, client, asking: askingEc2(configOf(fake), KEYS, () => fake.cloud.now) };
  }

  it("an image is asked for, and read, as by Amazon's client", async () => {
    const { fake, client, asking } = await started();
    const image = await readImage(asking, IMAGE);
    const sent = fieldsOf(fake);
    const { Images } = await client.send(new DescribeImagesCommand({ ImageIds: [IMAGE] }));
    expect(sent).toEqual(fieldsOf(fake));
    expect(Images?.[0]).toMatchObject({ State: "available", Architecture: "x86_64" });
    expect(image).toEqual({
      data: { state: "available", arch: "x64", rootDevice: Images?.[0]?.RootDeviceName },
    });
  });

  it("types are asked for, and read, as by Amazon's client", async () => {
    const { fake, client, asking } = await started();
    const names = ["c7g.large", "m7i.large", "m99.large"];
    const types = await readTypes(asking, names);
    const sent = fieldsOf(fake);
    const Filters = [{ Name: "instance-type", Values: names }];
    const { InstanceTypes = [] } = await client.send(new DescribeInstanceTypesCommand({ Filters }));
    expect(sent).toEqual(fieldsOf(fake));
    const read = "data" in types ? [...types.data] : [];
    expect(
      read.map(([name, { vcpus, memoryBytes, arch }]) => [name, vcpus, memoryBytes / 2 ** 20, arch]),
    ).toEqual(
      InstanceTypes.map(({ InstanceType, VCpuInfo, MemoryInfo, ProcessorInfo }) => {
        const isArm = ProcessorInfo?.SupportedArchitectures?.includes("arm64");
        return [InstanceType, VCpuInfo?.DefaultVCpus, MemoryInfo?.SizeInMiB, isArm ? "arm64" : "x64"];
      }),
    );
    await asking.call(offeringsForm(names));
    const asked = fieldsOf(fake);
    const { InstanceTypeOfferings: offered = [] } = await client.send(
      new DescribeInstanceTypeOfferingsCommand({ LocationType: "availability-zone", Filters }),
    );
    expect(asked).toEqual(fieldsOf(fake));
    expect(offered.filter(({ InstanceType }) => InstanceType === "c7g.large")).toHaveLength(2);
  });

  it("a dry run has the fields of that of Amazon's client", async () => {
    const { fake, client, asking } = await started();
    const id = "i-00000000000000000";
    await asking.call(dryRun(terminateForm(id)));
    const sent = fieldsOf(fake);
    const theirs = client.send(new TerminateInstancesCommand({ InstanceIds: [id], DryRun: true }));
    await expect(theirs).rejects.toMatchObject({ name: "InvalidInstanceID.NotFound" });
    expect(sent).toEqual(fieldsOf(fake));
  });
});

describe("Google", () => {
  it("what a check reads is where Google's client reads it, and the client understands it", async () => {
    const fake = await startGce();
    const [zone = ""] = ZONES;
    const config = PutPoolConfig.parse({
      provider: {
        ...{ kind: "gce", endpoint: fake.url, credentials: { secret: "x" }, project: PROJECT, zones: [zone] },
        subnetwork: "regions/europe-west1/subnetworks/ci",
      },
      image: "projects/debian-cloud/global/images/family/debian-12",
      instanceTypes: { "e2-standard-2": { vcpus: 2, memory: "8GiB" } },
      maxInstances: 2,
    });
    const provider = GceConfig.parse({ ...config.provider, credentials: { binding: "CLOUD_X" } });
    const subject = { name: "ci", config, provider, wanted: wantedOf(config) };
    const findings = await checkGce(subject, JSON.stringify(KEY), () => fake.cloud.now);
    expect(findings.filter(({ verdict }) => verdict !== "ok")).toEqual([]);
    // Neither is a read of Google's client: a listing is the adapter's, and permissions another service's.
    const isOther = (path: string) => /aggregated|:testIamPermissions$/.test(path);
    const asked = fake.cloud.calls.map(({ path }) => path).filter((path) => !isOther(path));
    const before = fake.cloud.calls.length;

    const access = new JWTAccess(KEY.client_email, KEY.private_key, KEY.private_key_id);
    const rootUrl = `${fake.url}/`;
    const options = { rootUrl, headers: access.getRequestHeaders("https://compute.googleapis.com/") };
    const client = compute({ version: "v1", rootUrl });
    const project = PROJECT;
    const region = "europe-west1";
    await client.zones.get({ project, zone }, options);
    const type = await client.machineTypes.get({ project, zone, machineType: "e2-standard-2" }, options);
    expect(type.data).toMatchObject({ guestCpus: 2, memoryMb: 8_192 });
    const place = await client.regions.get({ project, region }, options);
    expect(place.data.quotas).toContainEqual({ metric: "CPUS", limit: 72, usage: 4 });
    const image = await client.images.getFromFamily(
      { project: "debian-cloud", family: "debian-12" },
      options,
    );
    expect(image.data).toMatchObject({ status: "READY", diskSizeGb: "10" });
    await client.subnetworks.get({ project, region, subnetwork: "ci" }, options);
    const theirs = fake.cloud.calls.slice(before).map(({ path }) => path);
    expect(asked.sort()).toEqual(theirs.sort());
  });
});
