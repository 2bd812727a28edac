import { compute } from "@googleapis/compute";
import { JWTAccess } from "google-auth-library";
import { expect, it } from "vitest";
import { insertFields } from "../../src/providers/gce/requests.ts";
import { GceConfig } from "../../src/schema/pool/providers/clouds.ts";
import { type GceFake, KEY, PROJECT, startGce, ZONES } from "./gce-fake.ts";
import { listed, made } from "./support/answers.ts";
import { providerOf, wanted } from "./support/gce.ts";

// Google's own client reads what the fake says, the fake takes what the client sends, and both sign in the
// same way. So the fake is not merely what Drover believes of Google.

const [zone = ""] = ZONES;
const project = PROJECT;

/** Google's client, with a token that its library has signed itself for Compute Engine. */
function google({ url }: GceFake) {
  const access = new JWTAccess(KEY.client_email, KEY.private_key, KEY.private_key_id);
  const headers = access.getRequestHeaders("https://compute.googleapis.com/");
  const rootUrl = `${url}/`;
  return { client: compute({ version: "v1", rootUrl }), options: { rootUrl, headers } };
}

it("lists, shows and deletes what Drover has made", async () => {
  const fake = await startGce({ bootMs: 0, endMs: 0 });
  await made(providerOf(fake), wanted("p-1", { zone }));
  const { client, options } = google(fake);
  const filter = "labels.drover-pool=p";
  const { data } = await client.instances.aggregatedList({ project, filter }, options);
  const [shown] = data.items?.[`zones/${zone}`]?.instances ?? [];
  expect(shown).toMatchObject({ name: "p-1", status: "RUNNING", labels: { "drover-worker": "p-1" } });
  const one = await client.instances.get({ project, zone, instance: "p-1" }, options);
  expect(one.data.scheduling).toMatchObject({ maxRunDuration: { seconds: "86400" } });
  const ended = await client.instances.delete({ project, zone, instance: "p-1" }, options);
  expect(ended.data.status).toBe("DONE");
  fake.cloud.settle();
  expect(fake.cloud.living).toEqual([]);
});

it("creates a machine by the request that Drover sends, and is told why it cannot", async () => {
  const fake = await startGce({ bootMs: 0 });
  const { client, options } = google(fake);
  const stored = { kind: "gce", project, zones: [zone], credentials: { binding: "CLOUD_GOOGLE" } };
  const requestBody = insertFields(GceConfig.parse(stored), wanted("p-1"), zone);
  const requestId = "01234567-89ab-4cde-8f01-23456789abcd";
  const asked = { project, zone, requestId, requestBody };
  const { data } = await client.instances.insert(asked, options);
  expect(data).toMatchObject({ status: "DONE", operationType: "insert" });
  const wait = { project, zone, operation: data.name ?? "" };
  expect((await client.zoneOperations.wait(wait, options)).data.error).toBeUndefined();
  expect((await listed(providerOf(fake))).items.map(({ name }) => name)).toEqual(["p-1"]);
  await expect(client.instances.insert({ ...asked, zone: "nowhere" }, options)).rejects.toMatchObject({
    code: 400,
    response: { data: { error: { errors: [{ reason: "invalid" }] } } },
  });
});
