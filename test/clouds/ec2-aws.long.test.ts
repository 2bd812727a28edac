import { execFile, execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { type Ec2Fake, KEYS, REGION, startEc2 } from "./ec2-fake.ts";
import { IMAGE, made, providerOf } from "./support/ec2.ts";

// The command that people use must work against the fake as against Amazon: it has its own reader and its own
// signatures (Debian's package `awscli`).

const run = promisify(execFile);
const AWS = existsSync("/usr/bin/aws") ? "/usr/bin/aws" : "aws";

function isThere(): boolean {
  try {
    execFileSync(AWS, ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
const hasAws = isThere();
if (!hasAws)
  process.stderr.write("ec2-aws.long.test.ts is skipped: it needs `aws` (apt-get install awscli)\n");

/** Runs `aws ec2 …`, and resolves with what it printed, or with the error that it has named. */
async function aws({ url }: Ec2Fake, ...words: string[]) {
  const env = {
    ...process.env,
    AWS_ACCESS_KEY_ID: KEYS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: KEYS.secretAccessKey,
    AWS_DEFAULT_REGION: REGION,
    AWS_CONFIG_FILE: "/dev/null",
    AWS_SHARED_CREDENTIALS_FILE: "/dev/null",
    AWS_EC2_METADATA_DISABLED: "true",
    AWS_MAX_ATTEMPTS: "1",
    AWS_PAGER: "",
  };
  try {
    const { stdout } = await run(AWS, ["--endpoint-url", url, "--output", "json", "ec2", ...words], { env });
    return JSON.parse(stdout);
  } catch (error) {
    const said = error instanceof Error && "stderr" in error ? String(error.stderr) : String(error);
    return { error: said.trim() };
  }
}

describe.skipIf(!hasAws)("Amazon's command works with the fake", () => {
  it("makes, lists and ends machines, and finds the one that it has made", async () => {
    const fake = await startEc2();
    const words = [
      ...["run-instances", "--image-id", IMAGE, "--instance-type", "m7i.large", "--client-token", "w-1"],
      ...["--user-data", "#!/bin/sh\necho hello", "--instance-initiated-shutdown-behavior", "terminate"],
      ...["--metadata-options", "HttpTokens=required,HttpPutResponseHopLimit=1"],
      ...["--network-interfaces", "DeviceIndex=0,SubnetId=subnet-1111111a,DeleteOnTermination=true"],
      ...["--tag-specifications", "ResourceType=instance,Tags=[{Key=drover-pool,Value=p}]"],
    ];
    const [first, again] = [await aws(fake, ...words), await aws(fake, ...words)];
    const id = first.Instances[0].InstanceId;
    expect(again.Instances[0].InstanceId).toBe(id);
    expect(fake.cloud.named(id)).toMatchObject({ userData: "#!/bin/sh\necho hello", zone: "eu-west-1a" });
    const other = [...words.slice(0, 4), "m7i.xlarge", ...words.slice(5)];
    expect((await aws(fake, ...other)).error).toContain("(IdempotentParameterMismatch)");
    await made(providerOf(fake), "w-2");
    const { Reservations } = await aws(
      fake,
      "describe-instances",
      "--filters",
      "Name=tag:drover-pool,Values=p",
    );
    const shown = Reservations.map(
      ({ Instances: [one] }: { Instances: { ClientToken: string }[] }) => one?.ClientToken,
    );
    expect(shown).toEqual(["w-1", "w-2"]);
    const { TerminatingInstances } = await aws(fake, "terminate-instances", "--instance-ids", id);
    expect(TerminatingInstances[0]).toMatchObject({
      InstanceId: id,
      CurrentState: { Name: "shutting-down" },
    });
  });

  it("reads prices", async () => {
    const fake = await startEc2();
    const words = ["--instance-types", "c7g.large", "--product-descriptions", "Linux/UNIX"];
    const { SpotPriceHistory } = await aws(fake, "describe-spot-price-history", ...words);
    expect(SpotPriceHistory).toHaveLength(2);
    expect(SpotPriceHistory[0]).toMatchObject({ AvailabilityZone: "eu-west-1a", SpotPrice: "0.030100" });
  });

  it.each<[string, string[], string, (fake: Ec2Fake) => void]>([
    [
      "an unknown machine",
      ["terminate-instances", "--instance-ids", "i-00000000000000000"],
      "InvalidInstanceID.NotFound",
      () => {},
    ],
    [
      "no room",
      ["run-instances", "--image-id", IMAGE, "--instance-type", "m7i.large"],
      "InsufficientInstanceCapacity",
      ({ cloud }) => cloud.faults.noCapacity.add("m7i.large"),
    ],
    [
      "too many calls",
      ["describe-instances"],
      "RequestLimitExceeded",
      ({ cloud }) => cloud.faults.errors.push("RequestLimitExceeded"),
    ],
    ["a rehearsal", ["describe-instances", "--dry-run"], "DryRunOperation", () => {}],
    [
      "a zone that is out",
      ["describe-instances"],
      "Unavailable",
      ({ cloud }) => cloud.faults.zoneOutage.add("eu-west-1a"),
    ],
  ])("names the code of an error: %s", async (_what, words, code, befalls) => {
    const fake = await startEc2();
    befalls(fake);
    expect((await aws(fake, ...words)).error).toContain(`(${code})`);
  });
});
