// Which command asks EC2 whether it is about to take a spot machine away?
import script from "./notice.sh";

/** A script for `sh -c` that prints the notice of an interruption, or nothing (clouds/ec2.md#notice). */
export const EC2_NOTICE: string = script;
