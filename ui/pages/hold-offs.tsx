// What holds a pool back, and until when?
import type { PoolView } from "../../src/generated/api.ts";
import { Heads } from "../parts/lists/table.tsx";
import { Moment } from "../parts/time.tsx";

/** What holds a pool back: refusals of its cloud, with the time of the next try. */
export function HoldOffs({ pool: { holdOffs, cloudError } }: { pool: PoolView }) {
  if (holdOffs.length === 0 && cloudError === null) return null;
  return (
    <section aria-label="What holds the pool back">
      <h2>Held back</h2>
      {cloudError !== null && <p class="trouble">{cloudError}</p>}
      {holdOffs.length > 0 && (
        <table>
          <Heads of={["What", "Why", "Next try", "Details"]} />
          <tbody>
            {holdOffs.map(({ scope, cause, until, reason }) => (
              <tr key={`${scope} ${cause}`}>
                <td>{scope}</td>
                <td>{cause}</td>
                <td>{until === null ? "when the configuration changes" : <Moment at={until} />}</td>
                <td>{reason}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
