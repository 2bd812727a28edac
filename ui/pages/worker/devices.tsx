// The GPUs of a machine: what each is, and which attempt has it.
import type { WorkerStatus } from "../../../src/generated/api.ts";
import { formatSize } from "../../../src/shared/size.ts";
import { Scroll } from "../../parts/lists/scroll.tsx";
import { Heads } from "../../parts/lists/table.tsx";
import { itemHref } from "../../router/place.ts";

/** The GPUs as the host reports them; nothing if it names none. */
export function Devices({ worker: { devices, devicesFault } }: { worker: WorkerStatus }) {
  if (devices === undefined || (devices.length === 0 && devicesFault === undefined)) return null;
  return (
    <>
      <h2>GPUs</h2>
      {devicesFault !== undefined && <p>Its host does not know them: {devicesFault}</p>}
      {devices.length > 0 && (
        <Scroll label="GPUs">
          <table>
            <Heads of={["GPU", "Vendor", "Model", "Memory", "Driver", "Has it"]} />
            <tbody>
              {devices.map(({ id, vendor, model, memoryBytes, driver, healthy, attempt }) => (
                <tr key={id}>
                  <td>{id}</td>
                  <td>{vendor}</td>
                  <td>{model}</td>
                  <td>{memoryBytes === 0 ? "–" : formatSize(memoryBytes)}</td>
                  <td>{driver || "–"}</td>
                  <td>
                    {attempt !== null && <a href={itemHref("runs", runOf(attempt))}>{attempt}</a>}
                    {attempt === null && healthy && "free"}
                    {!healthy && " cannot be used"}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </>
  );
}

function runOf(attempt: string): string {
  return attempt.slice(0, attempt.indexOf("/"));
}
