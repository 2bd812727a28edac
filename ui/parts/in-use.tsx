// How full is a machine? Words and a bar for its vCPUs, for its memory, and for its GPUs if it has any.
import type { MachineResources } from "../../src/generated/api.ts";
import { inUse } from "../../src/shared/cloud/in-use.ts";

/** What runs have reserved of a machine. A dash: nobody has said it, as of a machine that others share. */
export function InUse({ of }: { of: { resources: MachineResources; used?: MachineResources } }) {
  const parts = inUse(of);
  if (parts.length === 0) return <>–</>;
  return (
    <ul class="in-use">
      {parts.map(({ name, used, of: all, usedText, ofText }) => (
        <li key={name}>
          <meter value={used} max={all} aria-label={`${name} in use`}>
            {usedText} of {ofText}
          </meter>{" "}
          {usedText} of {ofText}
          {name !== "Memory" && ` ${name}`}
        </li>
      ))}
    </ul>
  );
}
