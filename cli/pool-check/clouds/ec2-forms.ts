// Which forms are sent to EC2 to check a pool? None of them makes, changes or ends anything.
import type { Form } from "../../../src/providers/ec2/forms.ts";

/** The form as a call that only says whether the real one would be permitted. */
export function dryRun({ action, fields }: Form): Form {
  return { action, fields: [...fields, ["DryRun", "true"]] };
}

/** A create call without its tags, to learn whether tags are all that is not permitted. */
export function withoutTags({ action, fields }: Form): Form {
  return { action, fields: fields.filter(([name]) => !name.startsWith("TagSpecification.")) };
}

/** One image. */
export function imageForm(id: string): Form {
  return { action: "DescribeImages", fields: [["ImageId.1", id]] };
}

/** What these types have. Types that do not exist are left out of the answer. */
export function typesForm(types: readonly string[]): Form {
  return { action: "DescribeInstanceTypes", fields: byType(types) };
}

/** In which zones these types are offered. */
export function offeringsForm(types: readonly string[]): Form {
  const fields: Form["fields"] = [["LocationType", "availability-zone"], ...byType(types)];
  return { action: "DescribeInstanceTypeOfferings", fields };
}

function byType(types: readonly string[]): Form["fields"] {
  const values = types.map((type, at): [string, string] => [`Filter.1.Value.${at + 1}`, type]);
  return [["Filter.1.Name", "instance-type"], ...values];
}
