// Which command asks Google whether it is about to take a spot machine away?
import script from "./notice.sh";

/** A script for `sh -c` that prints the notice of a preemption, or nothing (clouds/gce.md#notice). */
export const GCE_NOTICE: string = script;
