// Which keys are in the credentials of an AWS account?
import { z } from "zod";
import type { ProviderFailure } from "../../core/provider-answers.ts";
import { jsonOf } from "../../schema/json.ts";

/** A key is sent in a header, or signs what is sent in one. */
const Key = z
  .string()
  .max(4_096)
  .regex(/^[!-~]+$/);

const AwsKeys = z.object({
  accessKeyId: Key.regex(/^\w+$/),
  secretAccessKey: Key,
  sessionToken: Key.optional(),
});
export type AwsKeys = z.infer<typeof AwsKeys>;

const FORM = '{"accessKeyId": "AKIA…", "secretAccessKey": "…"}, and "sessionToken" for temporary keys';

/**
 * Reads the text of a secret as the keys of an account (clouds/ec2.md#credentials). A text of another form is
 * a failure that says which form is needed, and quotes nothing.
 */
export function keysIn(text: string): { keys: AwsKeys } | { failure: ProviderFailure } {
  const { data, error } = AwsKeys.safeParse(jsonOf(text));
  if (data !== undefined) return { keys: data };
  const field = error.issues[0]?.path[0];
  const what = field === undefined ? "are not JSON of this form" : `have no valid \`${String(field)}\``;
  const fault = `the credentials of the AWS account ${what}; they must be ${FORM}`;
  return { failure: { class: "auth", text: fault, refused: true } };
}
