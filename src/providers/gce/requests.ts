// Which requests for machines are sent to Compute Engine? Their bytes depend on nothing but what is wanted.
import type { GceConfig } from "../../schema/pool/providers/clouds.ts";
import type { CreateInstance } from "../../schema/provider.ts";
import { durationMs } from "../../shared/duration.ts";

const GIB = 2 ** 30;

/** The request for a machine in a zone, with its fields in a fixed order (clouds/gce.md#create). */
export function insertFields(config: GceConfig, wanted: CreateInstance, zone: string): object {
  const { name, instanceType, image, tags, userData, resources, spot } = wanted;
  const { network, subnetwork, publicIp, diskType, maxLife } = config;
  const sizeGib = Math.ceil(resources.diskBytes / GIB);
  const disk = {
    sourceImage: image,
    diskType: `zones/${zone}/diskTypes/${diskType}`,
    ...(sizeGib > 0 ? { diskSizeGb: String(sizeGib) } : {}),
  };
  const seconds = String(Math.floor(durationMs(maxLife) / 1_000));
  return {
    name,
    machineType: `zones/${zone}/machineTypes/${instanceType}`,
    labels: tags,
    disks: [{ boot: true, autoDelete: true, initializeParams: disk }],
    networkInterfaces: [
      {
        // A subnetwork says which network it is of, and Google refuses one of another network.
        ...(subnetwork === undefined ? { network } : { subnetwork }),
        ...(publicIp ? { accessConfigs: [{ type: "ONE_TO_ONE_NAT", name: "External NAT" }] } : {}),
      },
    ],
    metadata: { items: [{ key: "startup-script", value: onlyOnce(userData) }] },
    // Without this, every task could act as the project's default account.
    serviceAccounts: [],
    scheduling: {
      ...(spot === true ? { provisioningModel: "SPOT", onHostMaintenance: "TERMINATE" } : {}),
      automaticRestart: false,
      instanceTerminationAction: "DELETE",
      maxRunDuration: { seconds },
    },
  };
}

/** Google runs a startup script at each boot, and a host's script is for the first one. */
function onlyOnce(userData: string): string {
  const guard = 'once="${DROVER_STATE_DIR:-/var/lib/drover}/.booted"\n[ ! -e "$once" ] || exit 0\n';
  return userData.replace(/^(#![^\n]*\n)?/, `$1${guard}mkdir -p "\${once%/*}" && : > "$once"\n`);
}

/** The UUID by which Google recognizes a repeated request: the first bytes of a digest of the token. */
export async function requestIdOf(token: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token)));
  const hex = [...digest.slice(0, 16)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  // The version and the variant of a UUID stand in two of its digits.
  const marked = `${hex.slice(0, 12)}4${hex.slice(13, 16)}8${hex.slice(17)}`;
  return marked.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
