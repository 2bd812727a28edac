import { expect, test } from "vitest";
import { diffOf } from "../../src/core/audit/diff.ts";

test.each(["constructor", "toString", "hasOwnProperty"])(
  "a name that users choose may be that of a property of every object: %s (audit.md#entries)",
  (name) => {
    const before = { instanceTypes: { small: {} } };
    const after = { instanceTypes: { small: {}, [name]: { vcpus: 1 } } };
    const field = `/instanceTypes/${name}`;
    expect(diffOf(before, after)).toEqual([{ field, from: null, to: '{"vcpus":1}' }]);
    expect(diffOf(after, before)).toEqual([{ field, from: '{"vcpus":1}', to: null }]);
  },
);
