// How much room do rows take? Each reader decides, for this browser: it is no part of what a link shows.
import { signal } from "@preact/signals";

/** Whether rows are small. */
export const isCompact = signal(localStorage.getItem("rows") === "compact");

/** A box: checked, rows are small. */
export function Density() {
  const turn = () => {
    isCompact.value = !isCompact.peek();
    localStorage.setItem("rows", isCompact.peek() ? "compact" : "roomy");
  };
  return (
    <label>
      <input type="checkbox" checked={isCompact.value} onChange={turn} /> Small rows
    </label>
  );
}
